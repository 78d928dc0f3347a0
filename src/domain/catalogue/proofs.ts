import { sha256Hex } from "../../kit/secret.ts";
import type { Surface } from "../record/record.ts";
import type { CatalogueSnapshot, Endpoint, ProviderConnections } from "./catalogue.ts";

/** Surfaces on which an endpoint is callable only after a successful probe. */
export const PROVEN_SURFACES = ["decisions", "speech"] as const;
export type ProvenSurface = (typeof PROVEN_SURFACES)[number];

export function needsProof(surface: Surface): surface is ProvenSurface {
  return surface === "decisions" || surface === "speech";
}

export const PROOF_RESULTS = ["proven", "failed"] as const;
export const PROOF_CAUSES = ["start", "schedule", "operator"] as const;

/** The result of one probe. Response content is not stored. */
export type SurfaceProof = {
  readonly id: string;
  readonly endpoint: string;
  readonly surface: ProvenSurface;
  /** Fingerprint of the probed configuration: a proof of another model, interface or URL does not count. */
  readonly subject: string;
  readonly atMs: number;
  readonly result: (typeof PROOF_RESULTS)[number];
  /** A clause for the operator, without a full stop, content or provider messages. */
  readonly reason: string;
  readonly cause: (typeof PROOF_CAUSES)[number];
  readonly durationMs: number;
  /** Usage reported by the provider, which bills the operator; null: not reported. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** Duration of the returned audio; null: none. */
  readonly audioMs: number | null;
  /** The questions were answered, but the images were not told apart. */
  readonly withoutImages?: true;
};

export type ProofFilter = {
  readonly endpoint?: string | undefined;
  readonly surface?: ProvenSurface | undefined;
  readonly result?: SurfaceProof["result"] | undefined;
};

/** Append-only store of proofs with a retention period. */
export type ProofStore = {
  append(proofs: readonly SurfaceProof[]): Promise<void>;
  /** Newest first. */
  history(
    filter: ProofFilter,
    limit: number,
    cursor: string | null,
  ): Promise<{ readonly rows: readonly SurfaceProof[]; readonly next: string | null }>;
  /** Oldest first; used to rebuild the status of endpoints. */
  since(atMs: number): Promise<readonly SurfaceProof[]>;
  /** Deletes older proofs. */
  sweep(beforeMs: number): Promise<void>;
};

/** Maximum clock skew between machines, or across a clock adjustment. */
const CLOCK_SKEW_MAX_MS = 5 * 60_000;

/** Recorded by a clock that was ahead: it would otherwise stay valid and latest until that time. */
export function isInFuture(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + CLOCK_SKEW_MAX_MS;
}

export type ProofRules = {
  /** A success older than this no longer counts. */
  readonly maxAgeMs: number;
  /** Consecutive failures that revoke the proof. */
  readonly failuresMax: number;
};

export type ProofStreak = {
  /** Null: never succeeded. */
  readonly provenAtMs: number | null;
  /** Consecutive failures since then. */
  readonly failures: number;
};

/** Proof status of an endpoint on a surface. */
export type ProofStatus = ProofStreak & {
  readonly subject: string;
  /** The same for image input, if the endpoint declares it. */
  readonly images: ProofStreak;
  readonly last: SurfaceProof;
};

/** Lookup for planning; `version` changes whenever a result may have. */
export type ProofLookup = {
  isProven(endpoint: Endpoint, surface: ProvenSurface, nowMs: number): boolean;
  /** Image input is declared in the catalogue and was verified by a probe. */
  acceptsImages(endpoint: Endpoint, nowMs: number): boolean;
  /** Changes with every result, and with every expiry. */
  readonly version: number;
  readonly nextExpiryMs: number;
  /** Called once `nextExpiryMs` has passed. */
  expire(nowMs: number): void;
};

/** Fingerprint of model, interface and base URL. */
export function proofSubject(
  endpoint: Endpoint,
  surface: ProvenSurface,
  connections: Pick<ProviderConnections, "baseUrl">,
) {
  const { upstreamModel, decisionsInterface, decisions, speech, sandbox, dialects } = endpoint;
  const requested =
    surface === "decisions"
      ? [decisionsInterface, ...decisionFingerprint(decisions, dialects)]
      : [speech?.interface ?? null];
  // Sandbox ports change at every start.
  const at = sandbox ? "sandbox" : (connections.baseUrl(endpoint) ?? null);
  return sha256Hex(JSON.stringify([surface, upstreamModel, ...requested, at])).slice(0, 32);
}

/** Request and reply format; limits do not matter. */
function decisionFingerprint(decisions: Endpoint["decisions"], [dialect]: Endpoint["dialects"]): readonly unknown[] {
  if (decisions === null) return [];
  const { path, images, hasEnvelope, logprobs, topLogprobs, thinkingOff } = decisions;
  return [path, images, hasEnvelope, logprobs, topLogprobs, thinkingOff, dialect ?? null];
}

/** Removes declared image input that no probe has verified. */
export function limitToProven(endpoint: Endpoint, proofs: Pick<ProofLookup, "acceptsImages">, nowMs: number): Endpoint {
  const { decisions } = endpoint;
  if (decisions === null || decisions.images === null || proofs.acceptsImages(endpoint, nowMs)) return endpoint;
  return { ...endpoint, decisions: { ...decisions, images: null } };
}

/** Unlisted sandbox models that demonstrate failures could never be proven. */
export function isFailureDemo({ sandbox, model }: Endpoint, { models }: Pick<CatalogueSnapshot, "models">): boolean {
  return sandbox && models.get(model)?.hidden === true;
}

export type ProofSubjects = {
  subjectOf(endpoint: Endpoint, surface: ProvenSurface): string;
  /** Callable without proof. */
  isExempt(endpoint: Endpoint): boolean;
};
