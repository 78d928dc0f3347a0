import type { Endpoint } from "./catalogue.ts";
import {
  isInFuture,
  type ProofLookup,
  type ProofRules,
  type ProofStatus,
  type ProofStreak,
  type ProofSubjects,
  type ProvenSurface,
  type SurfaceProof,
} from "./proofs.ts";

/** In-memory proof status used for planning. */
export class ProofRegistry implements ProofLookup {
  readonly #rules: ProofRules;
  readonly #subjects: ProofSubjects;
  readonly #statuses = new Map<string, ProofStatus>();
  version = 0;
  nextExpiryMs = Number.POSITIVE_INFINITY;

  constructor(rules: ProofRules, subjects: ProofSubjects) {
    this.#rules = rules;
    this.#subjects = subjects;
  }

  /** Undefined: never probed in its current configuration. */
  status(endpoint: Endpoint, surface: ProvenSurface): ProofStatus | undefined {
    const status = this.#statuses.get(`${surface} ${endpoint.id}`);
    return status?.subject === this.#subjects.subjectOf(endpoint, surface) ? status : undefined;
  }

  isProven(endpoint: Endpoint, surface: ProvenSurface, nowMs: number): boolean {
    return this.#subjects.isExempt(endpoint) || this.#isCurrent(this.status(endpoint, surface), nowMs);
  }

  acceptsImages(endpoint: Endpoint, nowMs: number): boolean {
    if (endpoint.decisions?.images == null) return false;
    return this.#subjects.isExempt(endpoint) || this.#isCurrent(this.status(endpoint, "decisions")?.images, nowMs);
  }

  expire(nowMs: number): void {
    this.version += 1;
    this.nextExpiryMs = this.#expiryAfter(nowMs);
  }

  /** Expects proofs in chronological order. */
  record(proofs: readonly SurfaceProof[]): void {
    for (const proof of proofs) {
      const key = `${proof.surface} ${proof.endpoint}`;
      const before = this.#statuses.get(key);
      const after = nextStatus(before, proof);
      this.#statuses.set(key, after);
      const { atMs } = proof;
      const hasChanged = (one: ProofStreak | undefined, other: ProofStreak) =>
        this.#isCurrent(one, atMs) !== this.#isCurrent(other, atMs);
      if (before?.subject !== after.subject || hasChanged(before, after) || hasChanged(before.images, after.images))
        this.version += 1;
      if (after.provenAtMs === atMs)
        this.nextExpiryMs = Math.min(this.nextExpiryMs, after.provenAtMs + this.#rules.maxAgeMs);
    }
  }

  #isCurrent(streak: ProofStreak | undefined, nowMs: number): boolean {
    if (streak === undefined || streak.provenAtMs === null || isInFuture(streak.provenAtMs, nowMs)) return false;
    return nowMs < streak.provenAtMs + this.#rules.maxAgeMs && streak.failures < this.#rules.failuresMax;
  }

  #expiryAfter(nowMs: number): number {
    const expiries = [...this.#statuses.values()]
      .flatMap((status) => [status, status.images])
      .map(({ provenAtMs }) => (provenAtMs ?? 0) + this.#rules.maxAgeMs);
    return Math.min(Number.POSITIVE_INFINITY, ...expiries.filter((atMs) => atMs > nowMs));
  }
}

function nextStatus(before: ProofStatus | undefined, proof: SurfaceProof): ProofStatus {
  const { subject } = proof;
  const previous = before?.subject === subject ? before : undefined;
  const images = previous?.images ?? NO_STREAK;
  const proven = { provenAtMs: proof.atMs, failures: 0 };
  // A failed probe does not reach the image check.
  if (proof.result === "failed") return { subject, ...addFailure(previous ?? NO_STREAK), images, last: proof };
  return { subject, ...proven, images: proof.withoutImages === true ? addFailure(images) : proven, last: proof };
}

const NO_STREAK: ProofStreak = { provenAtMs: null, failures: 0 };

function addFailure({ provenAtMs, failures }: ProofStreak): ProofStreak {
  return { provenAtMs, failures: failures + 1 };
}
