import {
  type CatalogueSnapshot,
  type Endpoint,
  knownCountries,
  type Provider,
} from "../../../domain/catalogue/catalogue.ts";
import {
  buildNodeProvider,
  isNodeProvider,
  nodeProviderSlug,
  nodeSovereignty,
} from "../../../domain/catalogue/node-catalogue.ts";
import { groupedBy, type ServedUsage, type UsageAmounts } from "../../../domain/record/evidence.ts";
import type { WorkspaceNode } from "../../../domain/tenancy/node.ts";
import { formatNanos } from "../../../kit/money.ts";

export function amountsView(
  { requests, inputTokens, outputTokens, costNanos }: Readonly<UsageAmounts>,
  currency: string,
) {
  return {
    served: requests,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cost: formatNanos(costNanos),
    currency,
  };
}

export function groupsView(rows: readonly ServedUsage[], currency: string, nameOf: (row: ServedUsage) => string) {
  return groupedBy(rows, nameOf).map(({ name, ...amounts }) => ({ name, ...amountsView(amounts, currency) }));
}

export function servedView(row: ServedUsage, currency: string) {
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

/** Why each endpoint that served has the level it has, and where that was read. */
export function endpointEvidence(
  snapshot: CatalogueSnapshot,
  nodes: readonly WorkspaceNode[],
  served: readonly ServedUsage[],
) {
  const ids = [...new Set(served.map(({ endpoint }) => endpoint ?? ""))].toSorted();
  return ids.map((id) => {
    const levels = [...new Set(served.filter((row) => row.endpoint === id).map(({ level }) => level))];
    const recorded = { endpoint: id, recorded_levels: levels };
    if (isNodeProvider(id)) return { ...recorded, ...nodeEvidence(nodes, id) };
    const endpoint = snapshot.endpoints.get(id);
    if (endpoint === undefined) return { ...recorded, in_catalogue: false as const };
    const provider = snapshot.providers.get(endpoint.provider);
    return { ...recorded, in_catalogue: true as const, ...sovereigntyFacts(provider, endpoint) };
  });
}

/** A machine of the workspace's own: what is said of it is what the workspace declared, while it has the machine. */
function nodeEvidence(nodes: readonly WorkspaceNode[], endpointId: string) {
  const own = { in_catalogue: false as const, own_node: true };
  const node = nodes.find((one) => endpointId.startsWith(`${nodeProviderSlug(one)}:`));
  if (node === undefined) return own;
  const provider = buildNodeProvider(node);
  const [{ id: region } = { id: "" }] = provider.regions;
  return {
    ...own,
    ...sovereigntyFacts(provider, { provider: provider.slug, region, sovereignty: nodeSovereignty(node) }),
  };
}

type EndpointLocation = Pick<Endpoint, "provider" | "region" | "sovereignty">;

function sovereigntyFacts(provider: Provider | undefined, { provider: slug, region, sovereignty }: EndpointLocation) {
  const own = sovereignty.evidence;
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
    sources: [
      ...(own === null
        ? []
        : [{ claim: "this endpoint", url: own.url, kind: own.kind, read: own.read, stale: own.stale }]),
      ...(provider?.evidence ?? []).map(({ claim, url, kind, read, stale }) => ({ claim, url, kind, read, stale })),
    ],
  };
}
