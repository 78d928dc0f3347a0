import type { ErrorEnvelope } from "../../contract/faults.ts";
import type { UpstreamProblem } from "./problem.ts";
import type { Usage } from "./usage.ts";

/** The charge as it is shown to the client. */
export type ShownCost = { readonly cost: number; readonly currency: string };

/** A whole answer of a provider, read but not yet rewritten for the client. */
export type WholeAnswer = {
  /** Undefined when the provider reported none, or impossible figures. */
  readonly usage: Usage | undefined;
  readonly upstreamId: string | null;
  /** Characters of everything the model wrote: what an estimate counts. */
  readonly outputChars: number;
  /** How often something was used that is billed apart. */
  readonly uses?: Readonly<Record<string, number>> | undefined;
  render(counted: Usage, shown: ShownCost | undefined): string;
};

/** What one frame of a provider's stream means for the relay; `text` is what the client gets of it. */
export type Piece =
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
export type AnswerStream = {
  read(frame: { readonly event: string | null; readonly data: string }): Piece;
  readonly usage: Usage | undefined;
  readonly outputChars: number;
  /** The figures are from before the model's last word, so they may lag behind what it said. */
  readonly cutShort?: true | undefined;
  /** How often something was used that is billed apart. */
  readonly uses?: Readonly<Record<string, number>> | undefined;
  readonly upstreamId: string | null;
  /** The model said why it stopped: with it a stream is whole even where a server forgets its end marker. */
  readonly finished: boolean;
  /** The last bytes of the client's stream. */
  close(counted: Usage, shown: ShownCost | undefined): string;
  /** The last bytes of a stream that cannot be finished. */
  fail(envelope: ErrorEnvelope): string;
  /** After `close` or `fail`: the whole answer as JSON text, in dialects whose answers can be kept and asked for again. */
  readonly final?: string | undefined;
};
