import type { ErrorEnvelope, Fault } from "../../contract/faults.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "./problem.ts";
import type { Usage } from "./usage.ts";

/** The charge as it is shown to the client. */
export type ReportedCost = { readonly cost: number; readonly currency: string };

/** A whole answer of a provider, read but not yet rewritten for the client. */
export type WholeReply = {
  /** Undefined when the provider reported none that can be read. */
  readonly usage: Usage | undefined;
  /** Figures were told, and left out here because they cannot be true. */
  readonly isUsageRejected?: true | undefined;
  readonly upstreamId: string | null;
  /** Everything the model wrote, as an estimate weighs it. */
  readonly outputWeight: number;
  /** Units beside tokens that it is billed by. */
  readonly units?: MeteredUnits | undefined;
  /** How many inputs the figures are of, each read by itself; absent: one. */
  readonly promptCount?: number | undefined;
  /** How often the provider may have read all of it; absent: once for each input. */
  readonly promptReads?: number | undefined;
  /** The provider would not answer, and is paid for having read: what the caller is told in the place of an answer. */
  readonly declined?: Fault | undefined;
  /** What only the answer shows of a request, for the log. */
  readonly detail?: JsonObject | undefined;
  /** Absent: JSON. */
  readonly contentType?: string | undefined;
  /** How often something was used that is billed apart. */
  readonly extraUses?: Readonly<Record<string, number>> | undefined;
  render(counted: Usage, shown: ReportedCost | undefined): string;
};

/** Units beside tokens: characters are counted, seconds measured. What is absent was not metered. */
export type MeteredUnits = { readonly characters?: number | undefined; readonly seconds?: number | undefined };

/** What came is no answer of its dialect, and why: in words without content. */
export type UnusableReply = { readonly unusable: string };

/** What one frame of a provider's stream means for the relay; `text` is what the client gets of it. */
export type StreamPiece =
  /** Nothing the model said yet: can still be taken back by moving on to another endpoint. */
  | { readonly is: "preamble"; readonly text: string }
  | { readonly is: "content"; readonly text: string }
  /** Figures without content; the client gets them at the close, when the charge is known. */
  | { readonly is: "figures" }
  | { readonly is: "problem"; readonly problem: UpstreamProblem }
  /** The dialect's end marker, with what the client still gets before the close. */
  | { readonly is: "end"; readonly text: string }
  | { readonly is: "garbage" };

/** Reads a provider's stream for two readers at once: the client and the meter. */
export type ReplyStream = StreamedReply & {
  read(frame: { readonly event: string | null; readonly data: string }): StreamPiece;
  /** The model said why it stopped: with it a stream is whole even where a server forgets its end marker. */
  readonly isFinished: boolean;
};

/** What one chunk of a provider's audio means for the relay; `bytes` is what the client gets of it. */
export type AudioPiece =
  | { readonly is: "audio"; readonly bytes: Buffer }
  | { readonly is: "problem"; readonly problem: UpstreamProblem }
  | { readonly is: "garbage"; readonly why: string };

/** The same for audio, which goes out as bytes. */
export type AudioStream = StreamedReply & {
  read(chunk: Buffer): AudioPiece;
  /** The provider has sent its last byte: what the client still gets, or that it was not whole. */
  end(): AudioPiece;
};

/** What is known of an answer that goes out piece by piece. */
export type StreamedReply = {
  readonly usage: Usage | undefined;
  readonly outputWeight: number;
  readonly units?: MeteredUnits | undefined;
  readonly detail?: JsonObject | undefined;
  /** What it is billed by where the provider told no figures; absent: input and output are estimated by their length. */
  readonly estimate?: Usage | undefined;
  /** The figures are from before the model's last word, so they may lag behind what it said. */
  readonly isUsagePartial?: true | undefined;
  /** How often something was used that is billed apart. */
  readonly extraUses?: Readonly<Record<string, number>> | undefined;
  /** How many inputs the figures are of, each read by itself; absent: one. */
  readonly promptCount?: number | undefined;
  readonly upstreamId: string | null;
  /** The last bytes of the client's stream. */
  close(counted: Usage, shown: ReportedCost | undefined): string;
  /** The last bytes of a stream that cannot be finished; undefined: it has no words for it, and is cut. */
  fail(envelope: ErrorEnvelope): string | undefined;
  /** After `close` or `fail`: the whole answer as JSON text, in dialects whose answers can be kept and asked for again. */
  readonly finalJson?: string | undefined;
};
