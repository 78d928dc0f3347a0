import type { JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "../canon/upstream-problem.ts";
import type { MemberRule } from "../dialects/reply-members.ts";
import type { TranscriptFormat, TranscriptionCall } from "./call.ts";
import type { Transcript } from "./reply.ts";

/** A multipart form field, in sending order. */
export type FormField = readonly [name: string, value: string];

/** A decoded event of a provider's stream. */
export type TranscriptionEvent =
  /** A text delta in the caller's event format; `providerFields` are the event's other fields. */
  | { readonly is: "text"; readonly text: string; readonly providerFields: JsonObject }
  /** A timed segment, which callers may want beside the text deltas. */
  | { readonly is: "segment"; readonly event: JsonObject }
  | { readonly is: "done"; readonly transcript: Transcript }
  | { readonly is: "problem"; readonly problem: UpstreamProblem }
  | { readonly is: "nothing" }
  | { readonly is: "malformed" };

/** A provider's wire format for transcriptions. */
export type TranscriptionWireFormat = {
  readonly path: string;
  /** Which members of a reply callers receive, by the format that they requested. */
  reply(format: TranscriptFormat): MemberRule;
  /** The same for the events of a stream. */
  readonly events: MemberRule;
  /** Parameters that cannot be combined with timestamps. */
  readonly incompatibleWithTimestamps: readonly string[];
  /** A reply with timestamps states the duration even if other replies do not. */
  readonly timestampsImplyDuration: boolean;
  /** All form fields except the file. `timed` requests segment timestamps. */
  encode(call: TranscriptionCall, upstreamModel: string, replyKind: "plain" | "timed"): FormField[];
  /** Undefined when the body is not a transcript. */
  decode(body: unknown): Transcript | undefined;
  decodeEvent(data: unknown): TranscriptionEvent;
  decodeProblem(body: unknown, status: number | null): UpstreamProblem;
};
