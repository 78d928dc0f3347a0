import type { CatalogueSnapshot, Endpoint, EvidenceSubject, Provider } from "../../../domain/catalogue/catalogue.ts";
import { buildNodeProvider, nodeProviderSlug, nodeSovereignty } from "../../../domain/catalogue/node-catalogue.ts";
import { dataClassUsage } from "../../../domain/record/data-class-usage.ts";
import {
  EvidenceAggregator,
  type EvidenceStore,
  type EvidenceTotals,
  groupedBy,
  type ServedUsage,
  sumOf,
  type UsageAmounts,
} from "../../../domain/record/evidence.ts";
import { isNodeProvider } from "../../../domain/record/request-shape.ts";
import { isPolicyRule } from "../../../domain/routing/plan-refusal.ts";
import { excludedByPolicy, knownCountries, permitsModel } from "../../../domain/routing/policy.ts";
import type { WorkspaceNode } from "../../../domain/tenancy/node.ts";
import { OPEN_POLICY, type Policy, type PolicyVersion, tightenPolicy } from "../../../domain/tenancy/policy.ts";
import type { RouterVersion } from "../../../domain/tenancy/router.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { formatNanos } from "../../../kit/money.ts";
import type { ManageContext } from "../deps.ts";
import { attestationView } from "../operation/nodes.ts";
import { isoTime, policyView, routerSpecView } from "../views.ts";
import { windowView } from "./captures.ts";

export type EvidencePeriod = { readonly fromMs: number; readonly toMs: number };

/** The error codes of refusals by a policy. */
const refusesByPolicy = (code: string) =>
  isPolicyRule(code) || code === "no_eligible_endpoint" || code === "model_not_permitted";

/** Sums the log in slices that end at policy changes. */
export async function tallyPeriod(
  evidence: EvidenceStore,
  workspaceId: string,
  period: EvidencePeriod,
  versions: readonly PolicyVersion[],
) {
  const changes = versions.map(({ createdAtMs }) => createdAtMs);
  const fold = new EvidenceAggregator(versions, refusesByPolicy);
  let atMs = await evidence.firstRequestAtMs(workspaceId, period.fromMs);
  while (atMs !== undefined && atMs < period.toMs) {
    const sliceStartMs = atMs;
    const untilMs = Math.min(period.toMs, ...changes.filter((changeMs) => changeMs > sliceStartMs));
    fold.add(sliceStartMs, await evidence.sums(workspaceId, sliceStartMs, untilMs));
    atMs = await evidence.firstRequestAtMs(workspaceId, untilMs);
  }
  return fold.totals();
}

/** The versions that were in force during the period, with the end of each. */
function versionsInForce<T extends { readonly version: number; readonly createdAtMs: number }>(
  versions: readonly T[],
  { fromMs, toMs }: EvidencePeriod,
): { readonly version: T; readonly untilMs: number | null }[] {
  return versions
    .map((version, index) => ({ version, untilMs: versions[index + 1]?.createdAtMs ?? null }))
    .filter(({ version, untilMs }) => version.createdAtMs < toMs && (untilMs === null || untilMs > fromMs));
}

function bySubject<T>(versions: readonly T[], subjectOf: (version: T) => string): T[][] {
  return [...Map.groupBy(versions, subjectOf).values()];
}

function excludedView(snapshot: CatalogueSnapshot, policy: Policy) {
  const rules = new Map<string, { endpoints: number; providers: Set<string> }>();
  for (const endpoint of snapshot.endpoints.values()) {
    const rule = permitsModel(endpoint.model, policy)
      ? excludedByPolicy(endpoint, policy)?.rule
      : ("model_not_permitted" as const);
    if (rule === undefined) continue;
    const known = rules.get(rule) ?? { endpoints: 0, providers: new Set<string>() };
    rules.set(rule, known);
    known.endpoints += 1;
    known.providers.add(endpoint.provider);
  }
  return [...rules].map(([rule, { endpoints, providers }]) => ({
    rule,
    endpoints,
    providers: [...providers].toSorted(),
  }));
}

function policiesView(
  context: ManageContext,
  versions: readonly PolicyVersion[],
  tally: EvidenceTotals,
  period: EvidencePeriod,
) {
  return bySubject(versions, ({ keyId }) => keyId ?? "").flatMap((own) =>
    versionsInForce(own, period).map(({ version: { keyId, version, createdAtMs, policy }, untilMs }) => ({
      subject: keyId === null ? "workspace" : "key",
      key_id: keyId,
      key_name: keyId === null ? null : (context.directory.key(keyId)?.name ?? null),
      version,
      in_force_from: isoTime(createdAtMs),
      in_force_until: untilMs === null ? null : isoTime(untilMs),
      policy: policyView({ ...OPEN_POLICY, ...policy }),
      requests: tally.byPolicy.find((one) => one.subject === (keyId ?? "") && one.version === version)?.requests ?? 0,
      excluded: excludedView(context.snapshot(), tightenPolicy(OPEN_POLICY, policy)),
    })),
  );
}

function routersView(versions: readonly RouterVersion[], tally: EvidenceTotals, period: EvidencePeriod) {
  return bySubject(versions, ({ slug }) => slug).flatMap((own) =>
    versionsInForce(own, period)
      .filter(({ version }) => version.spec !== null)
      .map(({ version: { slug, version, createdAtMs, spec }, untilMs }) => ({
        slug,
        version,
        in_force_from: isoTime(createdAtMs),
        in_force_until: untilMs === null ? null : isoTime(untilMs),
        spec: spec === null ? null : routerSpecView(spec),
        requests: tally.byRouter.find((one) => one.subject === slug && one.version === version)?.requests ?? 0,
      })),
  );
}

/** The evidence of a period from the log, the policies and the catalogue. */
export async function buildEvidenceReport(context: ManageContext, workspace: Workspace, period: EvidencePeriod) {
  const { id, currency } = workspace;
  const versions = await context.store.tenancy.policyHistory(id);
  const tally = await tallyPeriod(context.store.evidence, id, period, versions);
  const windows = await context.captureStore.openWithin(id, period.fromMs, period.toMs);
  const firstMs = await context.store.evidence.firstRequestAtMs(id, 0);
  const served = tally.served.toSorted((a, b) => b.requests - a.requests);
  const live = served.filter(({ environment }) => environment === "live");
  const refused = tally.refused.reduce((sum, { requests }) => sum + requests, 0);
  return {
    workspace: { id, slug: workspace.slug, name: workspace.name },
    period: { from: isoTime(period.fromMs), to: isoTime(period.toMs) },
    generated_at: isoTime(context.clock.nowMs()),
    log_begins_at: firstMs === undefined ? null : isoTime(firstMs),
    totals: {
      requests: tally.requests,
      refused_by_policy: refused,
      failed: tally.failed,
      failed_in_part: tally.failedAfterStart,
      repeated: tally.replayed,
      ...amountsView(sumOf(served), currency),
    },
    by_level: groupsView(live, currency, ({ level }) => level ?? "UNCLASSIFIED"),
    by_country: groupsView(live, currency, ({ countries }) => countries.join(", ") || "unknown"),
    by_provider: groupsView(live, currency, ({ provider }) => provider ?? "unknown"),
    served: served.map((row) => servedView(row, currency)),
    refused: tally.refused.map(({ policyVersion, rule, requests }) => ({
      policy_version: policyVersion,
      rule,
      requests,
    })),
    policies: policiesView(context, versions, tally, period),
    data_classes: dataClassUsage(await context.store.evidence.dataClasses(id, period.fromMs, period.toMs)),
    routers: routersView(await context.store.tenancy.routerVersions(id), tally, period),
    evidence: endpointEvidence(context.snapshot(), context.nodes.registry.listByWorkspace(id), served, period),
    catalogue: { version: context.snapshot().version, built_at: isoTime(context.snapshot().builtAtMs) },
    capture_windows: windows.map((row) => windowView(context, row)),
    stored_responses: {
      allowed: !workspace.policy.zeroDataRetention,
      retention: context.responseRetention,
    },
  };
}

export type EvidenceReport = Awaited<ReturnType<typeof buildEvidenceReport>>;

function amountsView({ requests, inputTokens, outputTokens, costNanos }: Readonly<UsageAmounts>, currency: string) {
  return {
    served: requests,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cost: formatNanos(costNanos),
    currency,
  };
}

function groupsView(rows: readonly ServedUsage[], currency: string, nameOf: (row: ServedUsage) => string) {
  return groupedBy(rows, nameOf).map(({ name, ...amounts }) => ({ name, ...amountsView(amounts, currency) }));
}

function servedView(row: ServedUsage, currency: string) {
  const { policyVersion, environment, provider, endpoint, model, level, countries } = row;
  return {
    policy_version: policyVersion,
    environment,
    provider,
    endpoint,
    model,
    level,
    countries,
    ...amountsView(row, currency),
  };
}

/** The level of each endpoint that served requests, with its sources. */
function endpointEvidence(
  snapshot: CatalogueSnapshot,
  nodes: readonly WorkspaceNode[],
  served: readonly ServedUsage[],
  period: EvidencePeriod,
) {
  const ids = [...new Set(served.map(({ endpoint }) => endpoint ?? ""))].toSorted();
  return ids.map((id) => {
    const levels = [...new Set(served.filter((row) => row.endpoint === id).map(({ level }) => level))];
    const recorded = { endpoint: id, recorded_levels: levels };
    if (isNodeProvider(id)) return { ...recorded, ...nodeEvidence(nodes, id, period) };
    const endpoint = snapshot.endpoints.get(id);
    if (endpoint === undefined) return { ...recorded, in_catalogue: false as const };
    const provider = snapshot.providers.get(endpoint.provider);
    return { ...recorded, in_catalogue: true as const, ...sovereigntyFacts(provider, endpoint) };
  });
}

/** Evidence of a node is what the workspace declares and attests, while the node exists. */
function nodeEvidence(nodes: readonly WorkspaceNode[], endpointId: string, { fromMs, toMs }: EvidencePeriod) {
  const own = { in_catalogue: false as const, own_node: true };
  const node = nodes.find((one) => endpointId.startsWith(`${nodeProviderSlug(one)}:`));
  if (node === undefined) return own;
  const provider = buildNodeProvider(node);
  const [{ id: region } = { id: "" }] = provider.regions;
  return {
    ...own,
    ...sovereigntyFacts(provider, { provider: provider.slug, region, sovereignty: nodeSovereignty(node) }),
    attestations: node.attestations
      .filter(({ atMs, endedAtMs }) => atMs < toMs && (endedAtMs === null || endedAtMs > fromMs))
      .map(attestationView),
  };
}

/** Subjects that levels and policies depend on. */
const REPORTED_SUBJECTS: ReadonlySet<EvidenceSubject> = new Set([
  "location",
  "operator",
  "certification",
  "ownership",
  "infrastructure",
  "retention",
  "training",
]);

type EndpointLocation = Pick<Endpoint, "provider" | "region" | "sovereignty">;

function sovereigntyFacts(provider: Provider | undefined, { provider: slug, region, sovereignty }: EndpointLocation) {
  return {
    provider: provider?.name ?? slug,
    operator: provider?.operator ?? null,
    seat_country: provider?.seatCountry ?? null,
    region,
    level: sovereignty.level,
    reason: sovereignty.reason,
    confidence: sovereignty.confidence,
    countries: knownCountries(sovereignty),
    countries_kind: sovereignty.countriesKind,
    zero_data_retention: sovereignty.zeroDataRetention,
    trains_on_data: sovereignty.trainsOnData,
    sources: [...sovereignty.evidence, ...(provider?.evidence ?? [])]
      .filter(({ subject }) => REPORTED_SUBJECTS.has(subject))
      .map(({ seeAlso: _seeAlso, ...statement }) => statement),
  };
}
