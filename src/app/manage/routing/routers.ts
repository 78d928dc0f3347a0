import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { fault, invalidValue } from "../../../contract/faults.ts";
import { RouterPut, RouterRestore } from "../../../contract/schemas/manage-routing.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import {
  EVEN_WEIGHTS,
  type Router,
  type RouterSpec,
  type RouterVersion,
  type Weights,
} from "../../../domain/tenancy/router.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { buffered, type Exchange, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import {
  type AuditDetails,
  commitWithAudit,
  findWorkspace,
  type ManageContext,
  type ManageScope,
  type TenancyDeps,
  type TenancyScope,
} from "../deps.ts";
import { type KnownNames, knownNamesFor, requireDataClasses } from "../known-names.ts";
import { paginate } from "../page.ts";
import { emptyToNull, parseCountries, requireModels } from "../tenancy/policies.ts";
import { parseCacheRule, routerSpecView, routerVersionView, routerView } from "../views.ts";

const SLUG = /^[a-z0-9-]{1,64}$/;
const ROUTERS_MAX = 1000;

type RouterInput = z.infer<typeof RouterPut>;

/** A complete spec with defaults; `at` is the path prefix of its fields in the body. */
function parseRouterSpec(input: RouterInput, names: KnownNames, at = ""): RouterSpec {
  const { floor } = input;
  const models = (field: "models" | "fallback") => requireModels(`${at}${field}`, input[field] ?? [], names);
  return {
    weights: parseWeights(input.weights ?? null, `${at}weights`),
    floor: floor === undefined || floor === "none" ? null : floor,
    qualityFloor: input.quality_floor ?? null,
    countries: emptyToNull(parseCountries(`${at}countries`, input.countries ?? [])),
    models: emptyToNull(models("models")),
    fallback: models("fallback"),
    reasoningEffort: input.reasoning_effort ?? null,
    nodes: input.nodes ?? null,
    ...(input.data_classes == null || Object.keys(input.data_classes).length === 0
      ? {}
      : { dataClasses: requireDataClasses(`${at}data_classes`, input.data_classes, names) }),
    ...(input.cache == null || Object.keys(input.cache).length === 0 ? {} : { cache: parseCacheRule(input.cache) }),
  };
}

function parseWeights(input: NonNullable<RouterInput["weights"]> | null, param: string): Weights {
  if (input === null) return EVEN_WEIGHTS;
  const weights = { quality: input.quality ?? 0, cost: input.cost ?? 0, latency: input.latency ?? 0 };
  if (weights.quality + weights.cost + weights.latency === 0)
    throw invalidValue(param, "must have at least one of quality, cost and latency above 0, or be omitted");
  return weights;
}

/** A router that is tried before it is saved; its version is 0, which no saved version has. */
export function unsavedRouter(context: ManageContext, workspace: Workspace, slug: string, input: RouterInput): Router {
  requireSlug(slug);
  const spec = parseRouterSpec(input, knownNamesFor(context, workspace.id), "spec.");
  return { workspaceId: workspace.id, slug, version: 0, createdAtMs: context.clock.nowMs(), spec };
}

function requireSlug(slug: string): void {
  if (!SLUG.test(slug)) throw invalidValue("router", "must be 1 to 64 lowercase letters, digits and hyphens");
}

export function findRouter(context: Pick<TenancyDeps, "directory">, workspace: Workspace, slug: string): Router {
  const router = context.directory.router(workspace.id, slug);
  if (router !== undefined) return router;
  throw fault("not_found", {
    message: `Workspace ${workspace.slug} has no router "${printable(slug)}". \`gateway router list ${workspace.slug}\` lists its routers.`,
  });
}

const historyOf = (deps: TenancyDeps, workspace: Workspace, slug: string): Promise<RouterVersion[]> =>
  deps.store.tenancy.routerHistory(workspace.id, slug);

/** Writes the next version to SQL, then to the directory that the next request reads. */
async function saveVersion(
  deps: TenancyScope,
  workspace: Workspace,
  slug: string,
  spec: RouterSpec | null,
  input: Pick<AuditDetails, "action" | "detail">,
): Promise<RouterVersion> {
  const head = await commitWithAudit(deps, async ({ tenancy }) => {
    const last = (await tenancy.routerHistory(workspace.id, slug))[0]?.version ?? 0;
    const next = { workspaceId: workspace.id, slug, version: last + 1, createdAtMs: deps.clock.nowMs() };
    await tenancy.saveRouterVersion({ ...next, spec });
    const detail = { version: next.version, ...input.detail };
    return { answer: next, audit: { action: input.action, workspaceId: workspace.id, target: slug, detail } };
  });
  if (spec === null) deps.directory.removeRouter(workspace.id, slug);
  else deps.directory.putRouter({ ...head, spec });
  return { ...head, spec };
}

async function putRouter(deps: TenancyScope, workspace: Workspace, slug: string, spec: RouterSpec): Promise<Router> {
  const before = deps.directory.router(workspace.id, slug);
  if (before !== undefined && isDeepStrictEqual(before.spec, spec)) return before;
  if (before === undefined && deps.directory.routers(workspace.id).length >= ROUTERS_MAX)
    throw fault("conflict", {
      message: `Workspace ${workspace.slug} already has ${ROUTERS_MAX} routers, the maximum. Remove one first.`,
    });
  const was = before === undefined ? null : routerSpecView(before.spec);
  const head = await saveVersion(deps, workspace, slug, spec, {
    action: before === undefined ? "router.create" : "router.change",
    detail: { before: was, after: routerSpecView(spec) },
  });
  return { ...head, spec };
}

async function removeRouter(deps: TenancyScope, workspace: Workspace, slug: string): Promise<RouterVersion> {
  const { spec } = findRouter(deps, workspace, slug);
  const detail = { before: routerSpecView(spec) };
  return saveVersion(deps, workspace, slug, null, { action: "router.remove", detail });
}

/** The version is validated against the current catalogue. */
async function restoreRouter(deps: ManageScope, workspace: Workspace, slug: string, version: number): Promise<Router> {
  const versions = await historyOf(deps, workspace, slug);
  if (versions.length === 0) findRouter(deps, workspace, slug);
  const spec = versions.find((one) => one.version === version)?.spec;
  if (spec === undefined)
    throw invalidValue("version", `must be a version from 1 to ${versions[0]?.version ?? 0} of router ${slug}`);
  if (spec === null)
    throw invalidValue("version", `must be a version with content: version ${version} deleted the router`);
  requireModels("version", [...(spec.models ?? []), ...spec.fallback], knownNamesFor(deps, workspace.id));
  return putRouter(deps, workspace, slug, spec);
}

export function routerHandlers(context: ManageContext): Record<string, Handler> {
  const targetOf = ({ params }: Exchange) => ({
    workspace: findWorkspace(context, params["workspace"]),
    slug: params["router"] ?? "",
  });
  return {
    manageListRouters: buffered(async (exchange) => {
      const { workspace } = targetOf(exchange);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const routers = context.directory.routers(workspace.id).map((router) => ({ ...router, id: router.slug }));
      const { rows, next } = paginate(routers, limit, cursor);
      return { status: 200, json: { data: rows.map((router) => routerView(router, workspace)), next } };
    }),
    manageShowRouter: buffered(async (exchange) => {
      const { workspace, slug } = targetOf(exchange);
      return { status: 200, json: routerView(findRouter(context, workspace, slug), workspace) };
    }),
    managePutRouter: mutation(context, async (exchange, scope) => {
      const { workspace, slug } = targetOf(exchange);
      const spec = parseRouterSpec(await readBody(exchange, RouterPut), knownNamesFor(scope, workspace.id));
      requireSlug(slug);
      const router = await scope.serialized(() => putRouter(scope, findWorkspace(scope, workspace.id), slug, spec));
      return { status: 200, json: routerView(router, workspace) };
    }),
    manageRemoveRouter: mutation(context, async (exchange, scope) => {
      const { workspace, slug } = targetOf(exchange);
      const { version } = await scope.serialized(() => removeRouter(scope, findWorkspace(scope, workspace.id), slug));
      return { status: 200, json: { slug, version, removed: true } };
    }),
    manageListRouterVersions: buffered(async (exchange) => {
      const { workspace, slug } = targetOf(exchange);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const versions = await historyOf(context, workspace, slug);
      if (versions.length === 0) findRouter(context, workspace, slug);
      // Ordered by version, which does not depend on the clock.
      const numbered = versions.map((row) => ({ row, id: slug, createdAtMs: row.version }));
      const { rows, next } = paginate(numbered, limit, cursor);
      return { status: 200, json: { data: rows.map(({ row }) => routerVersionView(row, workspace)), next } };
    }),
    manageRestoreRouter: mutation(context, async (exchange, scope) => {
      const { workspace, slug } = targetOf(exchange);
      const { version } = await readBody(exchange, RouterRestore);
      const router = await scope.serialized(() =>
        restoreRouter(scope, findWorkspace(scope, workspace.id), slug, version),
      );
      return { status: 200, json: routerView(router, workspace) };
    }),
  };
}
