import type {
  EvidenceStatement,
  FactSourceView,
  PublicEndpointDetail,
  PublicModelDetail,
  PublicPrice,
  PublicProviderDetail,
} from "../../contract/schemas/catalogue-detail.ts";
import type { Endpoint, Evidence, FactSource, Price, Provider } from "../../domain/catalogue/catalogue.ts";
import { levelCriteria } from "../../domain/catalogue/level-criteria.ts";
import { isoDay, isStale } from "../../domain/catalogue/levels.ts";
import { describeModel } from "../../domain/catalogue/model-description.ts";
import type { Offer } from "./catalogue-select.ts";
import { endpointView, modelView, providerView, type ViewContext } from "./catalogue-views.ts";
import { priceView } from "./price-view.ts";

export function modelDetailView(offer: Offer, context: ViewContext): PublicModelDetail {
  const { model, endpoints } = offer;
  const creator = context.snapshot.creators.get(model.creator)?.name ?? model.creator;
  return {
    ...modelView(offer, context),
    description: model.description ?? describeModel(model, creator),
    creator_name: creator,
    benchmarks: model.benchmarks.map((row) => ({ ...row })),
    evidence: statementViews(model.evidence ?? [], context.nowMs),
    sources: [...(model.sources ?? [])],
    endpoints: endpoints.map((endpoint) => endpointDetailView(endpoint, context)),
  };
}

export function providerDetailView(
  provider: Provider,
  endpoints: readonly Endpoint[],
  context: ViewContext,
): PublicProviderDetail {
  return {
    ...providerView(provider, endpoints),
    evidence: statementViews(provider.evidence, context.nowMs),
    endpoints: endpoints.map((endpoint) => endpointDetailView(endpoint, context)),
  };
}

function endpointDetailView(endpoint: Endpoint, context: ViewContext): PublicEndpointDetail {
  const { nowMs, snapshot } = context;
  const provider = snapshot.providers.get(endpoint.provider);
  const today = isoDay(nowMs);
  const isUpcoming = ({ from }: Price) => from !== null && from > today;
  const history = endpoint.prices
    .filter((row) => !isUpcoming(row))
    .toReversed()
    .map((row) => publicPrice(row, context));
  return {
    ...endpointView(endpoint, context),
    price: history[0] ?? null,
    price_history: history,
    upcoming_prices: endpoint.prices.filter(isUpcoming).map((row) => publicPrice(row, context)),
    criteria:
      provider === undefined
        ? []
        : levelCriteria(endpoint, provider).map(({ evidence, ...row }) => ({
            ...row,
            evidence: evidence === null ? null : statementView(evidence, nowMs),
          })),
    evidence: statementViews(endpoint.sovereignty.evidence, nowMs),
  };
}

function publicPrice(price: Price, context: ViewContext): PublicPrice {
  const evidence = price.evidence ?? null;
  return {
    ...priceView(price, context),
    since: price.from ?? evidence?.read ?? null,
    evidence: evidence === null ? null : sourceView(evidence, context.nowMs),
  };
}

function statementViews(statements: readonly Evidence[], nowMs: number): EvidenceStatement[] {
  return statements.map((one) => statementView(one, nowMs));
}

function statementView({ subject, claim, ...source }: Evidence, nowMs: number): EvidenceStatement {
  return { subject, claim, ...sourceView(source, nowMs) };
}

/** Staleness depends on the current day. */
function sourceView({ status, url, seeAlso, kind, read, missing }: FactSource, nowMs: number): FactSourceView {
  return { status, url, see_also: [...seeAlso], kind, read, missing, stale: isStale(read, nowMs) };
}
