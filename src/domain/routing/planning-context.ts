import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { CatalogueSnapshot } from "../catalogue/catalogue.ts";
import type { Surface } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import type { CircuitStateReader } from "./circuit-state.ts";
import type { LatencyTracker, TrafficStats } from "./endpoint-health.ts";
import type { ModelReachability, ReachableModel } from "./reachable-endpoint.ts";
import type { RejectedClaims } from "./rejected-claims.ts";
import type { DialectSupport, Requirements } from "./requirements.ts";
import type { RoutingTarget } from "./routing-target.ts";
import type { SessionPlacement } from "./session-affinity.ts";

export type PlanRequest = {
  readonly target: RoutingTarget;
  readonly surface: Surface;
  /** The combined policy of workspace, key, router and request. */
  readonly policy: Policy;
  readonly requirements: Requirements;
  readonly hints?: RoutingHints | undefined;
  /** The endpoint that served this conversation before. */
  readonly session?: SessionPlacement | undefined;
};

/** Everything outside the request that a plan depends on. */
export type PlanningContext = {
  readonly snapshot: Pick<CatalogueSnapshot, "models">;
  /** At least one provider outside the sandbox is connected, and the policy does not restrict the request to the sandbox. */
  readonly hasRealProvider: boolean;
  /** For a model that is not in the snapshot at the moment, such as one of a disconnected node. */
  readonly absentModel?: ((modelId: string) => AbsentModel | undefined) | undefined;
  readonly reachability: (modelId: string) => ModelReachability;
  /** Every reachable model on the request's surface. */
  readonly pool: () => readonly ReachableModel[];
  readonly latency: Pick<LatencyTracker, "estimate">;
  readonly trafficStats: Pick<TrafficStats, "expectedOutputTokens">;
  readonly circuits: CircuitStateReader;
  /** Circuits of the workspace's own keys; undefined when it has none. */
  readonly ownKeyCircuits?: ((provider: string) => CircuitStateReader | undefined) | undefined;
  /** Undefined when no provider rejected a parameter lately. */
  readonly rejectedClaims?: RejectedClaims | undefined;
  readonly support: DialectSupport;
  readonly walletPerUsd: number | undefined;
  /** The workspace's price relative to the provider's; 1 when absent. */
  readonly priceFactor?: number;
  readonly nowMs: number;
  /** Attempts per request. */
  readonly attemptsMax: number;
};

export type AbsentModel = { readonly reason: string; readonly reachability: ModelReachability };
