import type { z } from "zod";
import { PolicyPreviewQuery } from "../../../contract/schemas/manage-policy.ts";
import { PolicyPatch } from "../../../contract/schemas/manage-tenancy.ts";
import { SURFACES, type Surface } from "../../../contract/surfaces.ts";
import { servesSurface } from "../../../domain/catalogue/callability.ts";
import type { Endpoint } from "../../../domain/catalogue/catalogue.ts";
import { isChatLike } from "../../../domain/record/request-shape.ts";
import { knownCountries } from "../../../domain/routing/policy.ts";
import {
  type ModelEffect,
  type ModelOffer,
  policyEffect,
  type RuleEffect,
} from "../../../domain/routing/policy-effect.ts";
import type { Policy } from "../../../domain/tenancy/policy.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { DAY_MS } from "../../../kit/time.ts";
import { buffered, type Exchange, type Handler } from "../../exchange.ts";
import { reachabilityFor, snapshotFor } from "../../pipeline/workspace-resources.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { findWorkspace, type ManageContext } from "../deps.ts";
import { knownNamesFor } from "../known-names.ts";
import { restrictToCaller } from "../records/log-filter.ts";
import { parsePolicyChange } from "../tenancy/policies.ts";
import { isoTime, policyView, RULE_NAMES } from "../views.ts";

type PreviewScope = z.infer<typeof PolicyPreviewQuery>["scope"];

const RECENT_DAYS = 30;
const ROWS_MAX = 100_000;

/** Messages and responses have the same endpoints as chat. */
const REACHED_SURFACES: readonly Surface[] = SURFACES.filter((surface) => surface === "chat" || !isChatLike(surface));

/** The models and endpoints to evaluate. Simulated models count only if callable; hidden ones never. */
function judgedOffers(context: ManageContext, workspace: Workspace, scope: PreviewScope): ModelOffer[] {
  const { models, endpointsByModel } = snapshotFor(context.planning, workspace.id);
  const visible = [...models.values()].filter(({ hidden }) => !hidden).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return visible.flatMap((model) => {
    const callable = callableOf(context, workspace, model.id, model.surfaces);
    const endpoints =
      scope === "callable" || model.sandbox
        ? callable
        : (endpointsByModel.get(model.id) ?? []).filter(({ status }) => status !== "retired");
    return endpoints.length === 0 ? [] : [{ model, endpoints }];
  });
}

/** Callable endpoints on any surface, through platform credentials, own keys or nodes. */
function callableOf(
  context: ManageContext,
  { id, currency }: Workspace,
  modelId: string,
  surfaces: readonly Surface[],
) {
  const reach = reachabilityFor(context.planning, id);
  const nowMs = context.clock.nowMs();
  const found = new Map<string, Endpoint>();
  for (const surface of REACHED_SURFACES) {
    if (!servesSurface(surfaces, surface)) continue;
    for (const { endpoint } of reach.forModel(modelId, surface, currency, nowMs).endpoints)
      found.set(endpoint.id, endpoint);
  }
  return [...found.values()];
}

/** Recent requests per model, of those that the caller may see. */
async function recentUse(context: ManageContext, { id }: Workspace, exchange: Exchange, fromMs: number) {
  await context.waitForIngest();
  const query = {
    fromMs,
    toMs: context.clock.nowMs() + DAY_MS,
    stepMs: DAY_MS,
    group: "model",
    filter: restrictToCaller({}, exchange),
  } as const;
  const used = new Map<string, number>();
  for (const { name, requests } of await context.store.rollups.usage(id, query, ROWS_MAX))
    used.set(name, (used.get(name) ?? 0) + requests);
  return used;
}

function modelView({ model, fate, endpoints }: ModelEffect, isCallable: boolean, requests: number) {
  return {
    id: model.id,
    name: model.name,
    callable: isCallable,
    fate,
    requests,
    endpoints: endpoints.map(({ endpoint, before, after }) => ({
      id: endpoint.id,
      provider: endpoint.provider,
      level: endpoint.sovereignty.level,
      countries: [...knownCountries(endpoint.sovereignty)],
      before: before === undefined,
      after: after === undefined,
      rule: after === undefined ? null : RULE_NAMES[after.rule],
      reason: after?.reason ?? null,
    })),
  };
}

function ruleView({ rule, code, excluded, regained }: RuleEffect) {
  return { rule: RULE_NAMES[rule], code, out: excluded, back: regained };
}

async function preview(
  context: ManageContext,
  workspace: Workspace,
  policy: Policy,
  scope: PreviewScope,
  exchange: Exchange,
) {
  const effectOn = (on: PreviewScope) => policyEffect(judgedOffers(context, workspace, on), workspace.policy, policy);
  const callable = effectOn("callable");
  const effect = scope === "callable" ? callable : effectOn(scope);
  const sinceMs = Math.floor(context.clock.nowMs() / DAY_MS - RECENT_DAYS) * DAY_MS;
  const used = await recentUse(context, workspace, exchange, sinceMs);
  const callableIds = new Set(callable.models.map(({ model }) => model.id));
  const models = effect.models.map((one) => modelView(one, callableIds.has(one.model.id), used.get(one.model.id) ?? 0));
  return {
    policy: policyView(policy),
    scope,
    all: effect.all,
    before: effect.before,
    after: effect.after,
    callable: callable.after,
    gained: models.filter(({ fate }) => fate === "gained").map(({ id }) => id),
    lost: models.filter(({ fate }) => fate === "lost").map(({ id }) => id),
    lost_in_use: callable.models
      .filter(({ fate, model }) => fate === "lost" && used.has(model.id))
      .map(({ model }) => ({ model: model.id, requests: used.get(model.id) ?? 0 }))
      .toSorted((a, b) => b.requests - a.requests),
    used_since: isoTime(sinceMs),
    rules: effect.rules.map(ruleView),
    models,
  };
}

export function policyPreviewHandlers(context: ManageContext): Record<string, Handler> {
  return {
    managePreviewPolicy: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { scope } = readQuery(exchange, PolicyPreviewQuery);
      const demands = parsePolicyChange(await readBody(exchange, PolicyPatch), knownNamesFor(context, workspace.id));
      const policy: Policy = { ...workspace.policy, ...demands };
      return { status: 200, json: await preview(context, workspace, policy, scope, exchange) };
    }),
  };
}
