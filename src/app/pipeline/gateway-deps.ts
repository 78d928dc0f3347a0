import type { Fault } from "../../contract/faults.ts";
import type { IdempotencyLookup } from "../../domain/admission/idempotency.ts";
import type { AdmissionQueue, ConcurrencyLimiter, RetryBudget } from "../../domain/admission/overload-protection.ts";
import type { HoldRequest, SharedState } from "../../domain/admission/shared-state.ts";
import type { MarginRegistry } from "../../domain/billing/charge.ts";
import type { CurrentCatalogue, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import type { ReplyCache } from "../../domain/response-cache/reply-cache.ts";
import type { ResponseCompleteness } from "../../domain/responses/response-store.ts";
import type { CircuitBreakers, LatencyTracker, TrafficStats } from "../../domain/routing/endpoint-health.ts";
import type { Reachability } from "../../domain/routing/reachability.ts";
import type { RejectedClaims } from "../../domain/routing/rejected-claims.ts";
import type { SessionAffinity } from "../../domain/routing/session-affinity.ts";
import type { SpendScope } from "../../domain/tenancy/directory-reader.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import type { SpendLimit } from "../../domain/tenancy/limits.ts";
import type { Policy } from "../../domain/tenancy/policy.ts";
import type { Router } from "../../domain/tenancy/router.ts";
import type { Journal } from "../../io/journal/journal.ts";
import type { OperatorEvent } from "../../io/telemetry/operator-events.ts";
import type { TokenCounter } from "../../io/tokens/token-counter.ts";
import type { NodeRegistry } from "../../io/tunnel/node-registry.ts";
import type { OwnKeys } from "../../io/upstream/own-keys.ts";
import type { ResponseGuard } from "../../io/upstream/response-guard.ts";
import type { ResponseTimeouts, Transport } from "../../io/upstream/transport.ts";
import type { FrameLimits } from "../../io/upstream/upstream-adapter.ts";
import type { Clock } from "../../kit/clock.ts";
import type { DeadlineQueue } from "../../kit/deadline-queue.ts";
import type { Timers } from "../../kit/timers.ts";
import type { Exchange } from "../exchange.ts";
import type { ContentCaptures } from "./content-captures.ts";
import type { CustomClasses } from "./custom-classes.ts";
import type { ExternalDetectors } from "./external-detectors.ts";

/** Dependencies of the request pipeline; built once by the composition root. */
export type GatewayDeps = {
  readonly clock: Clock;
  /** Timers of the request path; background jobs have their own. */
  readonly timers: Timers;
  /** Deadlines of the requests in flight. */
  readonly deadlines: DeadlineQueue;
  /** Keep-alive times of the open streams. */
  readonly keepAlives: DeadlineQueue;
  readonly catalogue: CurrentCatalogue;
  readonly connections: ProviderConnections;
  readonly reachability: Reachability;
  /** Provider keys that workspaces bring. */
  readonly ownKeys: Pick<OwnKeys, "of">;
  /** Nodes that workspaces connect. */
  readonly nodes: Pick<NodeRegistry, "overlayFor" | "entry" | "reportImplausible" | "unavailableModel">;
  readonly health: LatencyTracker;
  readonly trafficStats: TrafficStats;
  /** What this instance learned from errors of providers. */
  readonly rejectedClaims: RejectedClaims;
  readonly sessions: SessionAffinity;
  readonly breakers: CircuitBreakers;
  /** Limits the requests in flight. */
  readonly queue: AdmissionQueue;
  /** Limits further attempts over all requests. */
  readonly retryBudget: RetryBudget;
  /** Limits the concurrent requests per endpoint. */
  readonly endpointSlots: ConcurrencyLimiter;
  /** From 0 up to 1, for jitter. */
  readonly random: () => number;
  readonly state: SharedState;
  readonly journal: Journal;
  readonly transport: Transport;
  /** Credentials of the platform and of a workspace at providers; they are redacted from provider messages. */
  readonly secretsOf: (workspaceId: string | undefined) => readonly string[];
  /** The workspace's own key for stand-ins of personal data. */
  readonly standInKey: (workspaceId: string) => Promise<Buffer>;
  /** Data classes that workspaces define. */
  readonly customClasses: Pick<CustomClasses, "detectors">;
  readonly externalDetectors: Pick<ExternalDetectors, "read">;
  readonly tokenCounter: TokenCounter;
  /** Throws when the key was revoked or narrowed; called before every attempt. */
  readonly recheckKey: (exchange: Exchange) => void;
  /** The current policy of a workspace and one of its keys. */
  readonly policyOf: (workspaceId: string, keyId: string | null) => Policy | undefined;
  /** The current router; undefined when the workspace has none of that name. */
  readonly routerOf: (workspaceId: string, slug: string) => Router | undefined;
  /** The current spend limits of a caller. */
  readonly spenderOf: (principal: Principal) => SpendScope;
  /** Margins on provider prices. */
  readonly margins: MarginRegistry;
  readonly limits: RequestLimits;
  /** Bounds what responses may cost. */
  readonly responses: ResponseGuard;
  readonly idempotency: IdempotencyLookup;
  /** Absent: the operator keeps no replies. */
  readonly responseCache?: ReplyCache;
  /** Open capture windows. */
  readonly captures: Pick<ContentCaptures, "openFor" | "begin">;
  /**
   * Called after the last attempt and before settlement; may run more than once. Returns a fault when another run of the
   * same background job owns the settlement. Absent: every request settles itself.
   */
  readonly beforeSettlement?: (requestId: string, completeness: ResponseCompleteness) => Promise<Fault | undefined>;
  /** For alerts; absent: there are none. */
  readonly onSpendLimitReached?: (hold: HoldRequest, limit: SpendLimit) => void;
  /** For metrics and the log. */
  readonly onRequestFinished: (record: RequestRecord) => void;
  /** The traceparent header for one attempt; absent: none is sent. */
  readonly traceparentFor?: (requestId: string, callerTraceparent: string | undefined, attempt: number) => string;
  readonly loopDetection: {
    /** Identifies this deployment in the hop header; the same on all instances. */
    readonly mark: string;
    /** True for a custom catalogue, in which every address may be a gateway. */
    readonly everywhere: boolean;
  };
  /** Events for the operator that no request record shows. */
  readonly onNotice: (notice: OperatorEvent) => void;
};

export type RequestLimits = FrameLimits & {
  readonly holdOutputTokens: number;
  readonly requestTimeoutMs: number;
  readonly responseMaxBytes: number;
  /** For responses that are not streamed; absent: the transport's timeouts. */
  readonly wholeResponse?: ResponseTimeouts;
  /** Of the events that are held back before the first content of a stream. */
  readonly preambleMaxChars: number;
  readonly keepAliveMs: number;
  readonly attemptsMax: number;
  readonly queueWaitMs: number;
};
