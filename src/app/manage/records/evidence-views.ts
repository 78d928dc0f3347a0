import type { Endpoint, Snapshot } from "../../../domain/catalogue/catalogue.ts";
import { type Amounts, groupedBy, type Served } from "../../../domain/record/evidence.ts";
import { formatNanos } from "../../../kit/money.ts";

export function amountsView({ requests, inputTokens, outputTokens, costNanos }: Readonly<Amounts>, currency: string) {
  return {
    served: requests,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cost: formatNanos(costNanos),
    currency,
  };
}

export function groupsView(rows: readonly Served[], currency: string, nameOf: (row: Served) => string) {
  return groupedBy(rows, nameOf).map(({ name, ...amounts }) => ({ name, ...amountsView(amounts, currency) }));
}

export function servedView(row: Served, currency: string) {
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
export function evidenceOf(snapshot: Snapshot, served: readonly Served[]) {
  const ids = [...new Set(served.map(({ endpoint }) => endpoint ?? ""))].toSorted();
  return ids.map((id) => {
    const levels = [...new Set(served.filter((row) => row.endpoint === id).map(({ level }) => level))];
    const endpoint = snapshot.endpoints.get(id);
    const recorded = { endpoint: id, recorded_levels: levels };
    return endpoint === undefined
      ? { ...recorded, in_catalogue: false as const }
      : { ...recorded, in_catalogue: true as const, ...factsOf(snapshot, endpoint) };
  });
}

function factsOf(snapshot: Snapshot, { provider: slug, region, sovereignty }: Endpoint) {
  const provider = snapshot.providers.get(slug);
  const own = sovereignty.evidence;
  return {
    provider: provider?.name ?? slug,
    operator: provider?.operator ?? null,
    seat_country: provider?.seatCountry ?? null,
    region,
    level: sovereignty.level,
    reason: sovereignty.reason,
    confidence: sovereignty.confidence,
    countries: sovereignty.countries,
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
