import type { Clock } from "../../kit/clock.ts";
import { HOUR_MS } from "../../kit/time.ts";
import type { Logger } from "./log.ts";

/** Why a request found no place. */
export const TURNED_AWAY = ["full", "too_long"] as const;

/** What happened on the way of a request that its operator should know. */
export type Notice =
  /** An attempt that is not the first of its request. */
  | { readonly is: "retried"; readonly provider: string; readonly at: "next" | "same" }
  | { readonly is: "budget_spent"; readonly provider: string }
  | { readonly is: "passed_over"; readonly provider: string; readonly why: "full" | "aside" | "dear" }
  | { readonly is: "turned_away"; readonly why: (typeof TURNED_AWAY)[number] }
  | ({ readonly is: "credential_refused" } & Refused)
  | ({ readonly is: "figures_replaced" } & Replaced);

/** The provider refuses the gateway's own credential, account or deployment. */
type Refused = { readonly endpoint: string; readonly provider: string; readonly status: number | null };

/** An answer was charged by the gateway's own count, in the place of what its provider told of it. */
type Replaced = {
  readonly endpoint: string;
  readonly provider: string;
  /** The figures cannot be true; or there were none that can be read. */
  readonly why: "impossible" | "none";
  readonly requestId: string;
};

export type Refusal = Refused & { readonly atMs: number };

const LATELY_MS = HOUR_MS;
const SAID_AGAIN_AFTER_MS = 60_000;

/** Counts what is noticed. What only the operator can mend is also logged, once a minute for each endpoint. */
export class Notices {
  readonly #count: (notice: Notice) => void;
  readonly #log: Pick<Logger, "warn">;
  readonly #clock: Clock;
  /** By kind and endpoint, so bounded by the catalogue. */
  readonly #saidAtMs = new Map<string, number>();
  /** The last one of each provider. */
  readonly #refusals = new Map<string, Refusal>();

  constructor(count: (notice: Notice) => void, log: Pick<Logger, "warn">, clock: Clock) {
    this.#count = count;
    this.#log = log;
    this.#clock = clock;
  }

  take(notice: Notice): void {
    this.#count(notice);
    if (notice.is === "credential_refused") this.#refused(notice);
    else if (notice.is === "figures_replaced") this.#replaced(notice);
  }

  #refused({ endpoint, provider, status }: Refused): void {
    this.#refusals.set(provider, { endpoint, provider, status, atMs: this.#clock.nowMs() });
    if (this.#isSaid(`refused ${endpoint}`)) return;
    this.#log.warn(
      { endpoint, provider, upstreamStatus: status },
      "a provider refuses the gateway's own credential, account or deployment",
    );
  }

  #replaced({ endpoint, provider, why, requestId }: Replaced): void {
    if (this.#isSaid(`${why} ${endpoint}`)) return;
    const told = why === "none" ? "told no figures that can be read" : "told figures that cannot be true";
    this.#log.warn(
      { endpoint, provider, requestId },
      `a provider ${told}: the answer was charged by the gateway's own count`,
    );
  }

  /** Whether it was said within the last minute; if not, it is now. */
  #isSaid(what: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const saidAtMs = this.#saidAtMs.get(what);
    if (saidAtMs !== undefined && nowMs - saidAtMs < SAID_AGAIN_AFTER_MS) return true;
    this.#saidAtMs.set(what, nowMs);
    return false;
  }

  /** Those of the last hour. */
  get refusals(): Refusal[] {
    const fromMs = this.#clock.nowMs() - LATELY_MS;
    return [...this.#refusals.values()].filter(({ atMs }) => atMs > fromMs);
  }
}
