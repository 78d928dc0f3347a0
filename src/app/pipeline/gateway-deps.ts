import type { Fault } from "../../contract/faults.ts";
import type { AdmissionQueue } from "../../domain/admission/admission-queue.ts";
import type { ConcurrencyLimiter } from "../../domain/admission/concurrency-limiter.ts";
import type { IdempotencyLookup } from "../../domain/admission/idempotency.ts";
import type { RetryBudget } from "../../domain/admission/retry-budget.ts";
import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { MarginRegistry } from "../../domain/billing/margin.ts";
import type { CatalogueSnapshot, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import type { ResponseCompleteness } from "../../domain/responses/response-store.ts";
import type { CircuitBreakers } from "../../domain/routing/circuit-breakers.ts";
import type { LatencyTracker } from "../../domain/routing/latency-tracker.ts";
import type { Reachability } from "../../domain/routing/reachability.ts";
import type { SessionAffinity } from "../../domain/routing/session-affinity.ts";
import type { TrafficStats } from "../../domain/routing/traffic-stats.ts";
import type { SpendScope } from "../../domain/tenancy/directory.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import type { Policy } from "../../domain/tenancy/policy.ts";
import type { Router } from "../../domain/tenancy/router.ts";
import type { Journal } from "../../io/journal/journal.ts";
import type { OperatorEvent } from "../../io/telemetry/operator-events.ts";
import type { TokenCounter } from "../../io/tokens/token-counter.ts";
import type { NodeRegistry } from "../../io/tunnel/node-registry.ts";
import type { OwnKeys } from "../../io/upstream/own-keys.ts";
import type { Transport } from "../../io/upstream/transport.ts";
import type { Clock } from "../../kit/clock.ts";
import type { DeadlineQueue } from "../../kit/deadline-queue.ts";
import type { Timers } from "../../kit/timers.ts";
import type { Exchange } from "../exchange.ts";
import type { ContentCaptures } from "./content-captures.ts";

/** Everything the request path is given. Built once, in main.ts. */
export type GatewayDeps = {
  readonly clock: Clock;
  /** The waiting of the request path; work in the background waits by timers of its own. */
  readonly timers: Timers;
  /** When the requests that run have to be over. */
  readonly deadlines: DeadlineQueue;
  /** When callers whose stream is silent are told that it goes on. */
  readonly keepAlives: DeadlineQueue;
  readonly snapshot: () => CatalogueSnapshot;
  readonly connections: ProviderConnections;
  readonly reachability: Reachability;
  /** Workspaces' own keys at providers. */
  readonly ownKeys: Pick<OwnKeys, "of">;
  /** Workspaces' own machines. */
  readonly nodes: Pick<NodeRegistry, "layerOf" | "held" | "lied" | "absent">;
  readonly health: LatencyTracker;
  readonly trafficStats: TrafficStats;
  readonly sessions: SessionAffinity;
  /** Who is set aside; told of every attempt. */
  readonly breakers: CircuitBreakers;
  /** The bound of requests at once, and the wait before it. */
  readonly queue: AdmissionQueue;
  /** The bound of attempts that are not a request's first. */
  readonly retryBudget: RetryBudget;
  /** The bound of requests at one endpoint. */
  readonly endpointSlots: ConcurrencyLimiter;
  /** From 0 up to 1: for waits that should not all end at once. */
  readonly random: () => number;
  readonly state: SharedState;
  readonly journal: Journal;
  readonly transport: Transport;
  /** Credentials at providers, the platform's and those of the workspace: no word of a provider is passed on with one in it. */
  readonly secretsOf: (workspaceId: string | undefined) => readonly string[];
  readonly tokenCounter: TokenCounter;
  /** Throws when the key was revoked or narrowed since the call began: asked again before every attempt. */
  readonly recheckKey: (exchange: Exchange) => void;
  /** The policy of a workspace and one of its keys that is in force now: asked again before every attempt. */
  readonly policyOf: (workspaceId: string, keyId: string | null) => Policy | undefined;
  /** The router in force now; undefined for one that this workspace does not have. */
  readonly routerOf: (workspaceId: string, slug: string) => Router | undefined;
  /** The spend limits in force now for a caller. */
  readonly spenderOf: (principal: Principal) => SpendScope;
  /** What is added to providers' prices, and for whom. */
  readonly margins: MarginRegistry;
  readonly limits: RequestLimits;
  /** Calls that are made once, however often they are sent. */
  readonly idempotency: IdempotencyLookup;
  /** What is kept of requests and answers while someone has opened a window for it. */
  readonly captures: Pick<ContentCaptures, "begin">;
  /**
   * Asked once nobody is asked any more, before anything is settled, again too: why nothing is charged; undefined: what was
   * used is. Absent: no request is ever another's.
   */
  readonly beforeSettlement?: (requestId: string, made: ResponseCompleteness) => Promise<Fault | undefined>;
  /** Told of every finished request, for metrics and the log. */
  readonly onRequestFinished: (record: RequestRecord) => void;
  /** What providers are told of a request's trace, by what its caller said of it; absent: nothing. */
  readonly traceparentFor?: (requestId: string, trace: string | undefined, attempt: number) => string;
  readonly loopDetection: {
    /** Names this deployment to gateways that a request is sent on to: all instances have the same. */
    readonly mark: string;
    /** The catalogue is the operator's own: every address in it may be a gateway. */
    readonly everywhere: boolean;
  };
  /** Told of what the operator should know and no record of a request shows. */
  readonly onNotice: (notice: OperatorEvent) => void;
};

export type RequestLimits = {
  readonly holdOutputTokens: number;
  readonly requestTimeoutMs: number;
  readonly responseMaxBytes: number;
  readonly frameMaxChars: number;
  readonly keepAliveMs: number;
  readonly attemptsMax: number;
  readonly queueWaitMs: number;
};
