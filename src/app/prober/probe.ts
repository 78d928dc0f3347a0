import type { Endpoint, Model, Price } from "../../domain/catalogue/catalogue.ts";
import type { ProvenSurface, SurfaceProof } from "../../domain/catalogue/proofs.ts";
import type { EndpointCallResult } from "../../io/upstream/endpoint-call.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";

/** An endpoint and surface that meet every condition for calls except a proof. */
export type ProbeTarget = {
  readonly surface: ProvenSurface;
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly price: Price;
  readonly baseUrl: string;
};

export type ProbeFinding = Pick<
  SurfaceProof,
  "result" | "reason" | "inputTokens" | "outputTokens" | "audioMs" | "withoutImages"
>;

/** Makes one call with the operator's credential; `onBytes` gets the response body. */
export type ProbeCall = (adapter: UpstreamAdapter, onBytes?: (bytes: Buffer) => void) => Promise<EndpointCallResult>;

const NO_USAGE = { inputTokens: null, outputTokens: null, audioMs: null };

export function failedFinding(reason: string, used: Partial<ProbeFinding> = {}): ProbeFinding {
  return { ...NO_USAGE, ...used, result: "failed", reason };
}

export function provenFinding(reason: string, used: Partial<ProbeFinding>): ProbeFinding {
  return { ...NO_USAGE, ...used, result: "proven", reason };
}
