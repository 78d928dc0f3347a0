import type { Surface } from "../../domain/record/record.ts";
import type { CircuitStateReader } from "../../domain/routing/circuit-state.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { PlanRefusal } from "../../domain/routing/plan-refusal.ts";
import type { CacheRule } from "../../domain/tenancy/cache-rule.ts";
import type { Policy } from "../../domain/tenancy/policy.ts";
import type { RouterSpec } from "../../domain/tenancy/router.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import type { Exchange, ResponseSink } from "../exchange.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { DecodedRequest, RequestOutline } from "./inference-request.ts";
import type { InspectedRequest } from "./inspect-content.ts";
import type { RequestTrace } from "./record.ts";

/** Read-only dependencies of planning. */
export type PlanningDeps = Pick<
  GatewayDeps,
  | "clock"
  | "catalogue"
  | "connections"
  | "reachability"
  | "health"
  | "trafficStats"
  | "rejectedClaims"
  | "sessions"
  | "policyOf"
  | "routerOf"
  | "ownKeys"
  | "customClasses"
  | "externalDetectors"
  | "margins"
> & {
  readonly breakers: CircuitStateReader;
  readonly nodes: Pick<GatewayDeps["nodes"], "overlayFor" | "unavailableModel">;
  readonly limits: Pick<GatewayDeps["limits"], "attemptsMax">;
};

type PlanningCaller = {
  readonly surface: Surface;
  readonly workspace: Workspace;
  /** Null: a preview by the workspace itself, without a key. */
  readonly keyId: string | null;
};

export type PlanningRequest = PlanningCaller & {
  readonly outline: RequestOutline;
  readonly inspected?: InspectedRequest;
};

export type PlannedRequest = {
  readonly plan: Plan | PlanRefusal;
  /** The canonical id of the requested model, or the router. */
  readonly model: string;
  /** The current policy of workspace, key, router and request; undefined when the workspace was deleted. */
  readonly currentPolicy: () => Policy | undefined;
  /** The current router, if it changed since the plan was made. */
  readonly changedRouter: () => RouterSpec | undefined;
  /** Shared by everything that judges the content. */
  readonly inspected: InspectedRequest;
  /** What the policy states about the cache. */
  readonly cacheRule: CacheRule | undefined;
  /** Rules of data classes are in force, and what the request contains is not known yet. */
  readonly isUninspected: boolean;
};

/** A planned request with its hold and its slot in the queue; its hold must be settled exactly once. */
export type AdmittedRequest = Pick<PlannedRequest, "currentPolicy" | "changedRouter" | "inspected"> & {
  readonly gateway: GatewayDeps;
  readonly trace: RequestTrace;
  readonly exchange: Exchange;
  readonly sink: ResponseSink;
  readonly decoded: DecodedRequest;
  readonly plan: Plan;
  /** On the monotonic clock. */
  readonly deadlineMs: number;
};
