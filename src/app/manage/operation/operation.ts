import type { z } from "zod";
import { ProviderQuery } from "../../../contract/schemas/manage-providers.ts";
import { AuditQuery, DoctorQuery } from "../../../contract/schemas/manage-records.ts";
import type { CatalogueSnapshot } from "../../../domain/catalogue/catalogue.ts";
import type { AuditFilter } from "../../../domain/record/audit.ts";
import { knownCountries } from "../../../domain/routing/policy.ts";
import type { OwnKeyOverlay } from "../../../io/upstream/own-keys.ts";
import type { PlatformConnections } from "../../../io/upstream/platform-connections.ts";
import { connectionSettings } from "../../../io/upstream/provider-connections.ts";
import { pluralize } from "../../../kit/pluralize.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { readQuery } from "../../request-input.ts";
import { type Check, type CheckResult, findWorkspace, type ManageContext, type ManageDeps } from "../deps.ts";
import { rateCheck } from "../money/rates.ts";
import { parseTime } from "../tenancy/key-settings.ts";
import { isoTime } from "../views.ts";
import { ledgerCheck } from "./ledger-check.ts";
import { liveChecks } from "./live-state-check.ts";

function providerViews(snapshot: CatalogueSnapshot, connections: PlatformConnections, own: OwnKeyOverlay | undefined) {
  const models = new Map<string, Set<string>>();
  const endpoints = new Map<string, number>();
  for (const { provider, model } of snapshot.endpoints.values()) {
    endpoints.set(provider, (endpoints.get(provider) ?? 0) + 1);
    const served = models.get(provider) ?? new Set();
    models.set(provider, served.add(model));
  }
  const settings = connectionSettings(snapshot);
  const views = [...snapshot.providers.values()].map((provider) => ({
    slug: provider.slug,
    name: provider.name,
    operator: provider.operator,
    connected: connections.credential(provider.slug) !== undefined,
    credential: connections.sourceOf(provider.slug),
    stored: connections.kept(provider.slug) !== undefined,
    overridden_by: connections.overridingSetting(provider.slug),
    connected_by_settings: connections.isConfigured(provider.slug),
    own_key: own?.keys.get(provider.slug)?.key.use ?? null,
    sandbox: provider.sandbox,
    levels: unique(provider.regions.map((region) => region.level)),
    countries: unique(provider.regions.flatMap(knownCountries)),
    models: models.get(provider.slug)?.size ?? 0,
    endpoints: endpoints.get(provider.slug) ?? 0,
    setting: settings.get(provider.slug) ?? null,
  }));
  return views.toSorted((a, b) => Number(b.connected) - Number(a.connected) || (a.slug < b.slug ? -1 : 1));
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)].toSorted();
}

/** The checks of the management module; the composition root adds those of store, journal and settings. */
function ownChecks(deps: ManageDeps, books: Check): Check[] {
  return [
    books,
    ...liveChecks(deps),
    rateCheck(deps, deps.rates.staleDays),
    { name: "catalogue", run: async () => catalogueCheck(deps.snapshot()) },
    { name: "providers", run: async () => providerCheck(deps.snapshot(), deps.connections) },
  ];
}

function catalogueCheck(snapshot: CatalogueSnapshot): CheckResult {
  const stale = [...snapshot.providers.values()].flatMap((one) => one.evidence).filter((evidence) => evidence.stale);
  const size = `${pluralize(snapshot.models.size, "model")} on ${pluralize(snapshot.endpoints.size, "endpoint")}`;
  const advice =
    stale.length === 0
      ? ""
      : `; ${pluralize(stale.length, "piece")} of evidence older than 180 days: read the source again`;
  return { ok: snapshot.models.size > 0, warning: stale.length > 0, detail: `${size}${advice}` };
}

const CONNECT = "with `gateway provider connect` or PROVIDER_<SLUG>_API_KEY";

function providerCheck(snapshot: CatalogueSnapshot, connections: PlatformConnections): CheckResult {
  const connected = [...snapshot.providers.keys()].filter((slug) => connections.credential(slug) !== undefined);
  const { unusableProviders } = connections;
  const unusableNote =
    unusableProviders.length === 0 ? "" : `; stored but unusable: ${unusableProviders.join(", ")}; connect them again`;
  if (connected.length === 0)
    return {
      ok: true,
      warning: true,
      detail: `no provider is connected, so no model can be called. Connect one ${CONNECT}${unusableNote}`,
    };
  const names = connected.map((slug) => {
    const source = connections.sourceOf(slug);
    return source === null ? slug : `${slug} (${source})`;
  });
  const summary = connections.hasRealProvider
    ? `connected: ${names.join(", ")}`
    : `only simulated providers are connected (${names.join(", ")}). Connect a real one ${CONNECT}`;
  const warning = !connections.hasRealProvider || unusableProviders.length > 0;
  return { ok: true, warning, detail: `${summary}${unusableNote}` };
}

function auditFilter(context: ManageContext, query: z.infer<typeof AuditQuery>): AuditFilter {
  const { workspace, actor, action, target } = query;
  const sinceMs = parseTime("since", query.since ?? null);
  const untilMs = parseTime("until", query.until ?? null);
  return {
    ...(workspace === undefined ? {} : { workspaceId: findWorkspace(context, workspace).id }),
    ...(actor === undefined ? {} : { actor }),
    ...(action === undefined ? {} : { action }),
    ...(target === undefined ? {} : { target }),
    ...(sinceMs === null ? {} : { sinceMs }),
    ...(untilMs === null ? {} : { untilMs }),
  };
}

async function runCheck({ name, run }: Check) {
  try {
    const { ok, warning = false, detail } = await run();
    return { name, ok, status: ok ? (warning ? "warning" : "ok") : "failed", detail } as const;
  } catch (error) {
    const detail = error instanceof Error ? error.message : "the check failed";
    return { name, ok: false, status: "failed", detail } as const;
  }
}

export function operationHandlers(context: ManageContext): Record<string, Handler> {
  const books = ledgerCheck(context);
  return {
    manageListProviders: buffered(async (exchange) => {
      const { workspace } = readQuery(exchange, ProviderQuery);
      const own =
        workspace === undefined ? undefined : context.ownKeys.registry.of(findWorkspace(context, workspace).id);
      return { status: 200, json: { data: providerViews(context.snapshot(), context.connections, own), next: null } };
    }),
    manageListAudit: buffered(async (exchange) => {
      const query = readQuery(exchange, AuditQuery);
      const { rows, next } = await context.store.audit.list(
        auditFilter(context, query),
        query.limit,
        query.cursor ?? null,
      );
      const data = rows.map((row) => ({
        id: row.id,
        at: isoTime(row.atMs),
        actor: row.actor,
        action: row.action,
        workspace:
          row.workspaceId === null ? null : (context.directory.workspace(row.workspaceId)?.slug ?? row.workspaceId),
        target: row.target,
        detail: row.detail,
      }));
      return { status: 200, json: { data, next } };
    }),
    manageDoctor: buffered(async (exchange) => {
      const ledger = books(readQuery(exchange, DoctorQuery).full === "true" ? "full" : "changes");
      const checks = await Promise.all([...context.checks, ...ownChecks(context, ledger)].map(runCheck));
      const warnings = checks.filter(({ status }) => status === "warning").length;
      return { status: 200, json: { ok: checks.every((check) => check.ok), warnings, checks } };
    }),
  };
}
