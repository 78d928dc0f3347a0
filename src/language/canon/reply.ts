import type { ErrorEnvelope } from "../../contract/error-envelope.ts";
import type { Fault } from "../../contract/faults.ts";
import type { SlicedWork } from "../../kit/event-loop-turns.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { JsonDocument } from "../../kit/json-document.ts";
import type { UpstreamProblem } from "./upstream-problem.ts";
import type { Usage } from "./usage.ts";

/** The charge as reported to the client. */
export type ReportedCost = { readonly cost: number; readonly currency: string };

/** A whole reply, decoded and not yet rewritten for the client. */
export type WholeReply = {
  /** Undefined if the provider reported none that can be parsed. */
  readonly usage: Usage | undefined;
  /** The provider reported implausible usage, which was discarded. */
  readonly isUsageRejected?: true | undefined;
  readonly upstreamId: string | null;
  /** Weight of the generated text, for token estimates. */
  readonly outputWeight: number;
  /** Memory of a long reply that no longer needs its document; absent: it does. */
  readonly heldBytes?: number | undefined;
  /** Billed if the provider reports no usage; absent: input and output are estimated by length. */
  readonly estimate?: Usage | undefined;
  /** Billed units other than tokens. */
  readonly units?: MeteredUnits | undefined;
  /** Number of prompts that the usage covers; absent: one. */
  readonly promptCount?: number | undefined;
  /** How often the provider may have read the whole input; absent: once per prompt. */
  readonly promptReads?: number | undefined;
  /** The provider declined but bills the input: the fault that replaces the reply. */
  readonly declined?: Fault | undefined;
  /** The rules do not let the reply pass: the fault that replaces it. It is charged in full. */
  readonly withheld?: Fault | undefined;
  /** Reply details for the request log. */
  readonly detail?: JsonObject | undefined;
  /** Paths of members of the provider's reply that are not carried; absent: all are carried. */
  readonly omitted?: readonly string[] | undefined;
  /** Absent: JSON. */
  readonly contentType?: string | undefined;
  /** Uses of separately billed extras. */
  readonly extraUses?: Readonly<Record<string, number>> | undefined;
  render(counted: Usage, shown: ReportedCost | undefined): string;
  /** The same for a long reply, in slices of event-loop turns; absent: `render`. */
  renderInSlices?: (counted: Usage, shown: ReportedCost | undefined) => Promise<string>;
};

/** Units other than tokens; absent: not metered. */
export type MeteredUnits = {
  readonly characters?: number | undefined;
  readonly seconds?: number | undefined;
  readonly images?: number | undefined;
  readonly searchUnits?: number | undefined;
};

/** The bytes are not a reply of the dialect; the reason contains no content. */
export type UnusableReply = { readonly unusable: string };

/** Meaning of one upstream frame for the relay; `text` goes to the client. */
export type StreamPiece =
  /** No model output yet: the gateway can still fail over to another endpoint. */
  | { readonly is: "preamble"; readonly text: string }
  | { readonly is: "content"; readonly text: string }
  /** Usage without content; the client receives it at the close, when the charge is known. */
  | { readonly is: "usage" }
  | { readonly is: "problem"; readonly problem: UpstreamProblem }
  /** The dialect's end marker; `text` is sent before the close. */
  | { readonly is: "end"; readonly text: string }
  | { readonly is: "malformed" };

/** Decodes an upstream stream for the client and the meter at once. */
export type ReplyStream = StreamedReply & {
  read(frame: { readonly event: string | null; readonly data: string; readonly document?: JsonDocument }): StreamPiece;
  /** The same for a long frame, in slices of event-loop turns; absent: `read`. */
  readInSlices?(frame: Parameters<ReplyStream["read"]>[0], work: SlicedWork): Promise<StreamPiece>;
  /** The model reported a finish reason: the stream is complete even if the server omits its end marker. */
  readonly isFinished: boolean;
  /** At the end: why the stream is no reply although it is complete; contains no content. */
  readonly unusable?: string | undefined;
};

/** Meaning of one chunk of upstream audio for the relay; `bytes` goes to the client. */
export type AudioPiece =
  | { readonly is: "audio"; readonly bytes: Buffer }
  | { readonly is: "problem"; readonly problem: UpstreamProblem }
  | { readonly is: "malformed"; readonly why: string };

export type AudioStream = StreamedReply & {
  read(chunk: Buffer): AudioPiece;
  /** Called after the last upstream byte; returns the remaining bytes, or reports a truncated stream. */
  end(): AudioPiece;
};

/** State of a reply that is relayed in pieces. */
export type StreamedReply = {
  readonly usage: Usage | undefined;
  readonly outputWeight: number;
  readonly units?: MeteredUnits | undefined;
  readonly detail?: JsonObject | undefined;
  /** Billed if the provider reports no usage; absent: input and output are estimated by length. */
  readonly estimate?: Usage | undefined;
  /** The usage was reported before the end and may lag behind the output. */
  readonly isUsagePartial?: true | undefined;
  /** Uses of separately billed extras. */
  readonly extraUses?: Readonly<Record<string, number>> | undefined;
  /** Number of prompts that the usage covers; absent: one. */
  readonly promptCount?: number | undefined;
  readonly upstreamId: string | null;
  /** Paths of members of the provider's stream that are not carried; absent: all are carried. */
  readonly omitted?: readonly string[] | undefined;
  /** The last bytes of the client's stream. */
  close(counted: Usage, shown: ReportedCost | undefined): string;
  /** The last bytes of a failed stream; undefined: the dialect has no error frame and the connection is cut. */
  fail(envelope: ErrorEnvelope): string | undefined;
  /** The connection is cut after the last bytes of a failed stream, because clients would take its end for a success. */
  readonly cutsWhenFailed?: boolean | undefined;
  /** The rules let no more of it pass: the fault that ends it. What came before is charged. */
  readonly withheld?: Fault | undefined;
  /** The last frames may hold what the rules judge, so they are made before the charge. */
  readonly judgesLastFrames?: true | undefined;
  /** After `close` or `fail`: the whole reply as JSON, for dialects whose replies can be stored. */
  readonly finalJson?: string | undefined;
};
