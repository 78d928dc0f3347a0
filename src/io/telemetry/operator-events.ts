import type { Clock } from "../../kit/clock.ts";
import { HOUR_MS } from "../../kit/time.ts";
import type { Logger } from "./logger.ts";

/** Why a request found no place. */
export const QUEUE_REJECTION_REASONS = ["full", "too_long"] as const;

/** What happened on the way of a request that its operator should know. */
export type OperatorEvent =
  /** An attempt that is not the first of its request. */
  | { readonly is: "retried"; readonly provider: string; readonly at: "next" | "same" }
  | { readonly is: "budget_spent"; readonly provider: string }
  | { readonly is: "passed_over"; readonly provider: string; readonly why: "full" | "aside" | "dear" }
  | { readonly is: "turned_away"; readonly why: (typeof QUEUE_REJECTION_REASONS)[number] }
  | ({ readonly is: "credential_refused" } & CredentialRejection)
  | ({ readonly is: "figures_replaced" } & UsageReplacement);

/** The provider refuses the gateway's own credential, account or deployment. */
type CredentialRejection = { readonly endpoint: string; readonly provider: string; readonly status: number | null };

/** An answer was charged by the gateway's own count, in the place of what its provider told of it. */
type UsageReplacement = {
  readonly endpoint: string;
  readonly provider: string;
  /** The figures cannot be true; or there were none that can be read. */
  readonly why: "impossible" | "none";
  readonly requestId: string;
};

export type RecentCredentialRejection = CredentialRejection & { readonly atMs: number };

const RECENT_MS = HOUR_MS;
const LOG_INTERVAL_MS = 60_000;

/** Counts what is noticed. What only the operator can mend is also logged, once a minute for each endpoint. */
export class OperatorEvents {
  readonly #onEvent: (notice: OperatorEvent) => void;
  readonly #log: Pick<Logger, "warn">;
  readonly #clock: Clock;
  /** By kind and endpoint, so bounded by the catalogue. */
  readonly #loggedAtMs = new Map<string, number>();
  /** The last one of each provider. */
  readonly #rejections = new Map<string, RecentCredentialRejection>();

  constructor(count: (notice: OperatorEvent) => void, log: Pick<Logger, "warn">, clock: Clock) {
    this.#onEvent = count;
    this.#log = log;
    this.#clock = clock;
  }

  record(notice: OperatorEvent): void {
    this.#onEvent(notice);
    if (notice.is === "credential_refused") this.#recordRejection(notice);
    else if (notice.is === "figures_replaced") this.#recordReplacement(notice);
  }

  #recordRejection({ endpoint, provider, status }: CredentialRejection): void {
    this.#rejections.set(provider, { endpoint, provider, status, atMs: this.#clock.nowMs() });
    if (this.#wasLoggedRecently(`refused ${endpoint}`)) return;
    this.#log.warn(
      { endpoint, provider, upstreamStatus: status },
      "a provider refuses the gateway's own credential, account or deployment",
    );
  }

  #recordReplacement({ endpoint, provider, why, requestId }: UsageReplacement): void {
    if (this.#wasLoggedRecently(`${why} ${endpoint}`)) return;
    const told = why === "none" ? "told no figures that can be read" : "told figures that cannot be true";
    this.#log.warn(
      { endpoint, provider, requestId },
      `a provider ${told}: the answer was charged by the gateway's own count`,
    );
  }

  /** Whether it was said within the last minute; if not, it is now. */
  #wasLoggedRecently(what: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const saidAtMs = this.#loggedAtMs.get(what);
    if (saidAtMs !== undefined && nowMs - saidAtMs < LOG_INTERVAL_MS) return true;
    this.#loggedAtMs.set(what, nowMs);
    return false;
  }

  /** Those of the last hour. */
  get recentRejections(): RecentCredentialRejection[] {
    const fromMs = this.#clock.nowMs() - RECENT_MS;
    return [...this.#rejections.values()].filter(({ atMs }) => atMs > fromMs);
  }
}
