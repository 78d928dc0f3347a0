import type { Clock } from "../../kit/clock.ts";
import { HOUR_MS } from "../../kit/time.ts";
import type { Logger } from "./logger.ts";

/** Values of the metric label `why`. */
export const QUEUE_REJECTION_REASONS = ["full", "too_long"] as const;

/** Events of requests that concern the operator; `why` values are metric labels. */
export type OperatorEvent =
  /** Not the first attempt of its request. */
  | { readonly is: "retried"; readonly provider: string; readonly at: "next" | "same" }
  | { readonly is: "retry_budget_exhausted"; readonly provider: string }
  | { readonly is: "endpoint_skipped"; readonly provider: string; readonly why: "full" | "aside" | "dear" }
  | { readonly is: "queue_rejected"; readonly why: (typeof QUEUE_REJECTION_REASONS)[number] }
  | ({ readonly is: "credential_rejected" } & CredentialRejection)
  | ({ readonly is: "parameter_rejected" } & ParameterRejection)
  | ({ readonly is: "usage_replaced" } & UsageReplacement);

/** A provider rejected the operator's credential, account or deployment. */
type CredentialRejection = { readonly endpoint: string; readonly provider: string; readonly status: number | null };

/** A provider rejected a parameter as unsupported that the endpoint's catalogue entry claims. */
type ParameterRejection = { readonly endpoint: string; readonly provider: string; readonly parameter: string };

/** A response was charged by the gateway's token count instead of the provider's usage. */
type UsageReplacement = {
  readonly endpoint: string;
  readonly provider: string;
  /** The provider's usage is implausible, or missing. */
  readonly why: "impossible" | "none";
  readonly requestId: string;
};

export type RecentCredentialRejection = CredentialRejection & { readonly atMs: number };

export type RecentParameterRejection = ParameterRejection & { readonly atMs: number };

const RECENT_MS = HOUR_MS;
/** Anyone can send the header. */
const FORWARDERS_MAX = 20;
const LOG_INTERVAL_MS = 60_000;

/** Counts all events. Those that only the operator can fix are also logged, once a minute for each endpoint. */
export class OperatorEvents {
  readonly #onEvent: (notice: OperatorEvent) => void;
  readonly #log: Pick<Logger, "warn">;
  readonly #clock: Clock;
  /** By event and endpoint; bounded by the catalogue. */
  readonly #loggedAtMs = new Map<string, number>();
  /** The latest of each provider. */
  readonly #rejections = new Map<string, RecentCredentialRejection>();

  /** The latest of each endpoint and parameter. */
  readonly #parameters = new Map<string, RecentParameterRejection>();

  readonly #untrustedForwarders = new Set<string>();

  constructor(count: (notice: OperatorEvent) => void, log: Pick<Logger, "warn">, clock: Clock) {
    this.#onEvent = count;
    this.#log = log;
    this.#clock = clock;
  }

  record(notice: OperatorEvent): void {
    this.#onEvent(notice);
    if (notice.is === "credential_rejected") this.#recordRejection(notice);
    else if (notice.is === "parameter_rejected") this.#recordParameter(notice);
    else if (notice.is === "usage_replaced") this.#recordReplacement(notice);
  }

  #recordRejection({ endpoint, provider, status }: CredentialRejection): void {
    this.#rejections.set(provider, { endpoint, provider, status, atMs: this.#clock.nowMs() });
    if (this.#wasLoggedRecently(`refused ${endpoint}`)) return;
    this.#log.warn(
      { endpoint, provider, upstreamStatus: status },
      "provider: credential, account or deployment rejected",
    );
  }

  #recordParameter({ endpoint, provider, parameter }: ParameterRejection): void {
    const key = `${parameter} ${endpoint}`;
    this.#parameters.set(key, { endpoint, provider, parameter, atMs: this.#clock.nowMs() });
    if (this.#wasLoggedRecently(key)) return;
    this.#log.warn({ endpoint, provider, parameter }, "catalogue: parameter rejected by the provider");
  }

  #recordReplacement({ endpoint, provider, why, requestId }: UsageReplacement): void {
    if (this.#wasLoggedRecently(`${why} ${endpoint}`)) return;
    const fields = { endpoint, provider, requestId };
    if (why === "none") this.#log.warn(fields, "provider: usage missing, charged by own token count");
    else this.#log.warn(fields, "provider: implausible usage, charged by own token count");
  }

  /** Records the event as logged when it was not. */
  #wasLoggedRecently(event: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const loggedAtMs = this.#loggedAtMs.get(event);
    if (loggedAtMs !== undefined && nowMs - loggedAtMs < LOG_INTERVAL_MS) return true;
    this.#loggedAtMs.set(event, nowMs);
    return false;
  }

  /** Logged once. A missing setting shows at the first request; later ones may come from callers who make the header up. */
  recordUntrustedForward(peer: string): void {
    if (this.#untrustedForwarders.size >= FORWARDERS_MAX || this.#untrustedForwarders.has(peer)) return;
    this.#untrustedForwarders.add(peer);
    if (this.#untrustedForwarders.size === 1)
      this.#log.warn({ peer }, "edge: forwarded address of an untrusted peer ignored");
  }

  /** The first peers since the start that forwarded an address and are no trusted proxies. */
  get untrustedForwarders(): readonly string[] {
    return [...this.#untrustedForwarders];
  }

  /** Rejections of the last hour. */
  get recentRejections(): RecentCredentialRejection[] {
    return this.#recent(this.#rejections);
  }

  /** Rejected parameters of the last hour. */
  get recentParameterRejections(): RecentParameterRejection[] {
    return this.#recent(this.#parameters);
  }

  #recent<T extends { readonly atMs: number }>(events: ReadonlyMap<string, T>): T[] {
    const fromMs = this.#clock.nowMs() - RECENT_MS;
    return [...events.values()].filter(({ atMs }) => atMs > fromMs);
  }
}
