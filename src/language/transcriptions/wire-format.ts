import type { JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "../canon/problem.ts";
import type { TranscriptionCall } from "./call.ts";
import type { Transcript } from "./reply.ts";

/** A field of a form, in the order in which it is sent. */
export type FormField = readonly [name: string, value: string];

/** What one event of a provider's stream means. */
export type TranscriptEvent =
  /** Words, in the caller's words for them; `said` is what an event has beside its text. */
  | { readonly is: "text"; readonly text: string; readonly said: JsonObject }
  /** Something with times that callers may want, and that is not the text once more. */
  | { readonly is: "segment"; readonly event: JsonObject }
  | { readonly is: "done"; readonly transcript: Transcript }
  | { readonly is: "problem"; readonly problem: UpstreamProblem }
  | { readonly is: "nothing" }
  | { readonly is: "garbage" };

/** One wire format for transcripts. */
export type TranscriptionWireFormat = {
  readonly path: string;
  /** A parameter that cannot be sent together with a wish for times. */
  readonly incompatibleWithTimestamps: readonly string[];
  /** Whether an answer with times says how long the audio was, also of who does not say it else. */
  readonly timestampsImplyDuration: boolean;
  /** Everything but the file. Timed: with the times of segments, and what is said beside them. */
  encode(ask: TranscriptionCall, upstreamModel: string, answer: "plain" | "timed"): FormField[];
  /** Undefined when it is no transcript. */
  decode(body: unknown): Transcript | undefined;
  decodeEvent(data: unknown): TranscriptEvent;
  decodeProblem(body: unknown, status: number | null): UpstreamProblem;
};
