import { Fault } from "../../contract/faults.ts";
import { chargeFor } from "../../domain/billing/charge.ts";
import { ImpossibleUsage } from "../../domain/billing/charge-errors.ts";
import type { RequestRecord, Surface } from "../../domain/record/record.ts";
import { expectedLatencyMs } from "../../domain/routing/candidate-metrics.ts";
import { ALL_CLOSED } from "../../domain/routing/circuit-state.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import { fromRequirementsRecord } from "../../domain/routing/requirements-record.ts";
import type { Router } from "../../domain/tenancy/router.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import type { RequestOutline } from "./inference-request.ts";
import { planOutline } from "./plan.ts";
import type { PlanningDeps } from "./planned-request.ts";
import { snapshotFor } from "./workspace-resources.ts";

/** Cost, latency and model quality of one request; null when unknown. */
export type ReplayMetrics = {
  readonly model: string;
  readonly nanos: bigint;
  readonly latencyMs: number | null;
  readonly quality: number | null;
  /** Sovereignty level of the endpoint. */
  readonly level: string | null;
};

export type ReplayResult =
  | { readonly is: "left_out"; readonly reason: string }
  | {
      readonly is: "compared";
      readonly happened: ReplayMetrics;
      readonly replayed: ReplayMetrics;
      readonly by: "the same endpoint" | "another endpoint";
    };

const ROUTED_SURFACES: ReadonlySet<Surface> = new Set(["chat", "messages", "responses", "gemini"]);

const NO_OWN_KEYS: PlanningDeps["ownKeys"] = { of: () => undefined };

/** The planner with one router replaced. Current circuit states and rejected claims are ignored, because the replay is about another time. */
export function planningWithRouter(planning: PlanningDeps, slug: string, router: Router | undefined): PlanningDeps {
  return {
    ...planning,
    breakers: ALL_CLOSED,
    rejectedClaims: new Map(),
    // Requests with own keys have no comparable cost.
    ownKeys: NO_OWN_KEYS,
    routerOf: (workspaceId, name) => (name === slug ? router : planning.routerOf(workspaceId, name)),
  };
}

/** Plans a logged request again with a router and compares the result with what happened. */
export function replayRecord(
  planning: PlanningDeps,
  workspace: Workspace,
  router: string,
  record: RequestRecord,
): ReplayResult {
  const { usage, charge, model, surface } = record;
  if (!ROUTED_SURFACES.has(surface)) return notCompared(`routers do not serve ${surface}`);
  if (record.ownKey === true) return notCompared("served with the workspace's own key, so it was not charged");
  if (usage === null || charge === null || model === null)
    return notCompared("not served, so there are no token counts");
  const outline = outlineFromRecord(router, record, usage.inputTokens);
  if (typeof outline === "string") return notCompared(outline);
  try {
    const { plan } = planOutline(planning, { surface, workspace, keyId: record.keyId, outline });
    if (plan.is === "refused") return notCompared(`the router would refuse it: ${plan.fault.code}`);
    const [first] = plan.attempts;
    if (first === undefined) return notCompared("the router has no endpoint for it");
    const { nanos } = chargeFor(
      usage,
      first.price,
      planning.catalogue.snapshot.currencies,
      workspace.currency,
      planning.margins.marginFor(workspace.id),
    );
    const same = first.endpoint.id === record.endpoint;
    return {
      is: "compared",
      happened: {
        model,
        nanos: BigInt(charge.nanos),
        latencyMs: record.totalMs,
        quality: snapshotFor(planning, workspace.id).models.get(model)?.quality?.score ?? null,
        level: record.level,
      },
      replayed: {
        model: first.model.id,
        nanos,
        latencyMs: same ? record.totalMs : measuredMs(planning, first, usage.outputTokens),
        quality: first.model.quality?.score ?? null,
        level: first.endpoint.sovereignty.level,
      },
      by: same ? "the same endpoint" : "another endpoint",
    };
  } catch (error) {
    if (error instanceof ImpossibleUsage) return notCompared("its token counts cannot be priced");
    if (error instanceof Fault) return notCompared(`the router would refuse it: ${error.code}`);
    throw error;
  }
}

function notCompared(reason: string): ReplayResult {
  return { is: "left_out", reason };
}

function outlineFromRecord(model: string, { decision }: RequestRecord, inputTokens: number): RequestOutline | string {
  const stored = decision?.demand;
  if (stored === undefined) return "the log does not have its requirements";
  const again = fromRequirementsRecord(stored, inputTokens);
  return again === undefined
    ? "its preferences were too long to store"
    : { model, requirements: again.requirements, routingHints: again.hints };
}

function measuredMs(planning: PlanningDeps, { endpoint, node }: Attempt, outputTokens: number): number | null {
  const entry = node === undefined ? undefined : planning.nodes.overlayFor(node.workspaceId)?.entryFor(endpoint.id);
  const measured = (entry?.health ?? planning.health).estimate(endpoint.id, planning.clock.nowMs());
  return measured === undefined ? null : expectedLatencyMs(measured, outputTokens);
}
