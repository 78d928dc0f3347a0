import type { Endpoint, Model, Price } from "../../domain/catalogue/catalogue.ts";
import type { ProvenSurface, SurfaceProof } from "../../domain/catalogue/proofs.ts";
import type { Asked } from "../../io/upstream/ask-lane.ts";
import type { Lane } from "../../io/upstream/lane.ts";

/** An endpoint that could be called on a surface, were it proven. */
export type ProbeTarget = {
  readonly surface: ProvenSurface;
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly price: Price;
  readonly baseUrl: string;
};

/** What came of asking. */
export type ProbeFinding = Pick<
  SurfaceProof,
  "result" | "reason" | "inputTokens" | "outputTokens" | "audioMs" | "withoutImages"
>;

/** Asks the candidate once, with the operator's credential. */
export type ProbeCall = (lane: Lane, heard?: (bytes: Buffer) => void) => Promise<Asked>;

const NOTHING_USED = { inputTokens: null, outputTokens: null, audioMs: null };

export function failedFinding(reason: string, used: Partial<ProbeFinding> = {}): ProbeFinding {
  return { ...NOTHING_USED, ...used, result: "failed", reason };
}

export function provenFinding(reason: string, used: Partial<ProbeFinding>): ProbeFinding {
  return { ...NOTHING_USED, ...used, result: "proven", reason };
}
