import { sha256Hex } from "../../kit/secret.ts";
import type { Surface } from "../record/record.ts";
import type { CatalogueSnapshot, Endpoint, ProviderConnections } from "./catalogue.ts";

/** Surfaces on which an endpoint serves only once it was seen to do so. */
export const PROVEN_SURFACES = ["decisions", "speech"] as const;
export type ProvenSurface = (typeof PROVEN_SURFACES)[number];

export function needsProof(surface: Surface): surface is ProvenSurface {
  return surface === "decisions" || surface === "speech";
}

export const PROOF_RESULTS = ["proven", "failed"] as const;
export const PROOF_CAUSES = ["start", "schedule", "operator"] as const;

/** One time that an endpoint was asked, and what came of it. Nothing of the answer itself is kept. */
export type SurfaceProof = {
  readonly id: string;
  readonly endpoint: string;
  readonly surface: ProvenSurface;
  /** What the endpoint was then: a proof of another model, interface or address counts no more. */
  readonly subject: string;
  readonly atMs: number;
  readonly result: (typeof PROOF_RESULTS)[number];
  /** A clause for the operator, without a full stop, without content and without a provider's own words. */
  readonly reason: string;
  readonly cause: (typeof PROOF_CAUSES)[number];
  readonly durationMs: number;
  /** What the provider says it used, and will bill the operator for; null: it did not say. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** How long the audio lasts that came back; null: none did. */
  readonly audioMs: number | null;
  /** Proven without the pictures that the catalogue says are taken: the questions were answered, and those not told apart. */
  readonly withoutImages?: true;
};

export type ProofFilter = {
  readonly endpoint?: string | undefined;
  readonly surface?: ProvenSurface | undefined;
  readonly result?: SurfaceProof["result"] | undefined;
};

/** Proofs as they were made. They are never changed, and leave when they are too old. */
export type ProofStore = {
  append(proofs: readonly SurfaceProof[]): Promise<void>;
  /** Newest first. */
  history(
    filter: ProofFilter,
    limit: number,
    cursor: string | null,
  ): Promise<{ readonly rows: readonly SurfaceProof[]; readonly next: string | null }>;
  /** Everything from a time on, oldest first: what the standing of endpoints is worked out from. */
  since(atMs: number): Promise<readonly SurfaceProof[]>;
  /** Removes what is older. */
  sweep(beforeMs: number): Promise<void>;
};

/** Clocks of two machines, or of one before and after it was set, may differ by this much. */
const CLOCK_SKEW_MAX_MS = 5 * 60_000;

/** Made by a clock that ran ahead: it would hold, and be the latest, until that time has come. */
export function isInFuture(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + CLOCK_SKEW_MAX_MS;
}

export type ProofRules = {
  /** A success that is older proves nothing any more. */
  readonly maxAgeMs: number;
  /** So many failures in a row take an endpoint off, whatever was proven before. */
  readonly failuresMax: number;
};

type ProofStreak = {
  /** Null: it never succeeded. */
  readonly provenAtMs: number | null;
  /** In a row, since then. */
  readonly failures: number;
};

/** Where an endpoint stands on a surface. */
export type ProofStatus = ProofStreak & {
  readonly subject: string;
  /** The same of its pictures; only of interest where it takes some. */
  readonly images: ProofStreak;
  readonly last: SurfaceProof;
};

/** What planning asks. The number changes whenever an answer may have. */
export type ProofLookup = {
  isProven(endpoint: Endpoint, surface: ProvenSurface, nowMs: number): boolean;
  /** Pictures go with decisions there: the catalogue says so, and they were told apart. */
  acceptsImages(endpoint: Endpoint, nowMs: number): boolean;
  version(nowMs: number): number;
};

/** What is proven of an endpoint on a surface: this model, asked this way, at this address. */
export function proofSubject(
  endpoint: Endpoint,
  surface: ProvenSurface,
  connections: Pick<ProviderConnections, "baseUrl">,
) {
  const { upstreamModel, decisionsInterface, decisions, speech, sandbox, dialects } = endpoint;
  const asked =
    surface === "decisions"
      ? [decisionsInterface, ...decisionFingerprint(decisions, dialects)]
      : [speech?.interface ?? null];
  // Simulated providers have another port at every start.
  const at = sandbox ? "sandbox" : (connections.baseUrl(endpoint) ?? null);
  return sha256Hex(JSON.stringify([surface, upstreamModel, ...asked, at])).slice(0, 32);
}

/** How questions are put and answers read; limits are none of it. */
function decisionFingerprint(decisions: Endpoint["decisions"], [dialect]: Endpoint["dialects"]): readonly unknown[] {
  if (decisions === null) return [];
  const { path, images, hasEnvelope, logprobs, topLogprobs, thinkingOff } = decisions;
  return [path, images, hasEnvelope, logprobs, topLogprobs, thinkingOff, dialect ?? null];
}

/** The endpoint as it was seen to answer: who does not tell pictures apart takes none. */
export function limitToProven(endpoint: Endpoint, proofs: Pick<ProofLookup, "acceptsImages">, nowMs: number): Endpoint {
  const { decisions } = endpoint;
  if (decisions === null || decisions.images === null || proofs.acceptsImages(endpoint, nowMs)) return endpoint;
  return { ...endpoint, decisions: { ...decisions, images: null } };
}

/** Simulated models that show failures are in no list, and could not be proven. */
export function isFailureDemo({ sandbox, model }: Endpoint, { models }: Pick<CatalogueSnapshot, "models">): boolean {
  return sandbox && models.get(model)?.hidden === true;
}

export type ProofSubjects = {
  subjectOf(endpoint: Endpoint, surface: ProvenSurface): string;
  /** Called as it is, without any proof. */
  isExempt(endpoint: Endpoint): boolean;
};

/** What is proven now, in the memory that requests are planned by. */
export class ProofRegistry implements ProofLookup {
  readonly #rules: ProofRules;
  readonly #subjects: ProofSubjects;
  readonly #statuses = new Map<string, ProofStatus>();
  #version = 0;
  #nextExpiryMs = Number.POSITIVE_INFINITY;

  constructor(rules: ProofRules, subjects: ProofSubjects) {
    this.#rules = rules;
    this.#subjects = subjects;
  }

  /** Undefined: never asked, or not as what it is now. */
  standing(endpoint: Endpoint, surface: ProvenSurface): ProofStatus | undefined {
    const standing = this.#statuses.get(`${surface} ${endpoint.id}`);
    return standing?.subject === this.#subjects.subjectOf(endpoint, surface) ? standing : undefined;
  }

  isProven(endpoint: Endpoint, surface: ProvenSurface, nowMs: number): boolean {
    return this.#subjects.isExempt(endpoint) || this.#isCurrent(this.standing(endpoint, surface), nowMs);
  }

  acceptsImages(endpoint: Endpoint, nowMs: number): boolean {
    if (endpoint.decisions?.images == null) return false;
    return this.#subjects.isExempt(endpoint) || this.#isCurrent(this.standing(endpoint, "decisions")?.images, nowMs);
  }

  version(nowMs: number): number {
    if (nowMs >= this.#nextExpiryMs) {
      this.#version += 1;
      this.#nextExpiryMs = this.#expiryAfter(nowMs);
    }
    return this.#version;
  }

  /** In the order in which they were made. */
  record(proofs: readonly SurfaceProof[]): void {
    for (const proof of proofs) {
      const key = `${proof.surface} ${proof.endpoint}`;
      const before = this.#statuses.get(key);
      const after = nextStatus(before, proof);
      this.#statuses.set(key, after);
      const { atMs } = proof;
      const isOther = (one: ProofStreak | undefined, other: ProofStreak) =>
        this.#isCurrent(one, atMs) !== this.#isCurrent(other, atMs);
      if (before?.subject !== after.subject || isOther(before, after) || isOther(before.images, after.images))
        this.#version += 1;
      if (after.provenAtMs === atMs)
        this.#nextExpiryMs = Math.min(this.#nextExpiryMs, after.provenAtMs + this.#rules.maxAgeMs);
    }
  }

  #isCurrent(streak: ProofStreak | undefined, nowMs: number): boolean {
    if (streak === undefined || streak.provenAtMs === null || isInFuture(streak.provenAtMs, nowMs)) return false;
    return nowMs < streak.provenAtMs + this.#rules.maxAgeMs && streak.failures < this.#rules.failuresMax;
  }

  #expiryAfter(nowMs: number): number {
    const expiries = [...this.#statuses.values()]
      .flatMap((standing) => [standing, standing.images])
      .map(({ provenAtMs }) => (provenAtMs ?? 0) + this.#rules.maxAgeMs);
    return Math.min(Number.POSITIVE_INFINITY, ...expiries.filter((atMs) => atMs > nowMs));
  }
}

function nextStatus(before: ProofStatus | undefined, proof: SurfaceProof): ProofStatus {
  const { subject } = proof;
  const same = before?.subject === subject ? before : undefined;
  const images = same?.images ?? NO_STREAK;
  const proven = { provenAtMs: proof.atMs, failures: 0 };
  // Who answers nothing was not asked about pictures.
  if (proof.result === "failed") return { subject, ...addFailure(same ?? NO_STREAK), images, last: proof };
  return { subject, ...proven, images: proof.withoutImages === true ? addFailure(images) : proven, last: proof };
}

const NO_STREAK: ProofStreak = { provenAtMs: null, failures: 0 };

function addFailure({ provenAtMs, failures }: ProofStreak): ProofStreak {
  return { provenAtMs, failures: failures + 1 };
}
