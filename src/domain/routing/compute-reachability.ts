import { billedPrice } from "../billing/speech-price.ts";
import { type CallabilityContext, checkCallability } from "../catalogue/callability.ts";
import type { CatalogueSnapshot, Endpoint, Model } from "../catalogue/catalogue.ts";
import { limitToProven, type ProofLookup } from "../catalogue/proofs.ts";
import type { Surface } from "../record/record.ts";
import { isChatLike } from "../record/request-shape.ts";
import { unitRates } from "./cost.ts";
import type { PolicyClass, PolicyFacts } from "./policy.ts";
import type { ModelReachability, ReachableEndpoint } from "./reachable-endpoint.ts";
import { withLimits } from "./requirements.ts";

type ReachabilityContext = CallabilityContext & {
  readonly snapshot: CatalogueSnapshot;
  readonly proofs: ProofLookup;
  readonly speaksDialect: (endpoint: Endpoint) => boolean;
  readonly policyClasses: PolicyClasses;
};

/** Checks every endpoint of the model. */
export function computeReachability(model: Model, surface: Surface, context: ReachabilityContext): ModelReachability {
  const endpoints: ReachableEndpoint[] = [];
  const obstacles: string[] = [];
  const { snapshot, proofs, walletCurrency, nowMs, speaksDialect, policyClasses } = context;
  for (const endpoint of snapshot.endpointsByModel.get(model.id) ?? []) {
    const result = checkCallability(endpoint, surface, context);
    if (result.is === "not_callable") {
      obstacles.push(result.reason);
      continue;
    }
    const { baseUrl } = result;
    // Holds, comparisons and charges all use this price.
    const price = billedPrice(result.price, surface);
    const rates = unitRates(price, snapshot.currencies, walletCurrency);
    if (rates === undefined) obstacles.push(`there is no exchange rate from ${price.currency} to ${walletCurrency}`);
    else if (isChatLike(surface) && !speaksDialect(endpoint))
      obstacles.push(`${endpoint.id} has no dialect that the gateway supports`);
    else {
      const provenEndpoint = surface === "decisions" ? limitToProven(endpoint, proofs, nowMs) : endpoint;
      endpoints.push({
        ...withLimits(provenEndpoint, model),
        price,
        baseUrl,
        rates,
        policyClass: policyClasses.of(endpoint),
      });
    }
  }
  return { endpoints, obstacles };
}

export class PolicyClasses {
  readonly #classes = new Map<string, PolicyClass>();

  of({ provider, sandbox, ownNode, sovereignty }: PolicyFacts): PolicyClass {
    const { level, countries, countriesKind, zeroDataRetention, trainsOnData } = sovereignty;
    const facts: PolicyFacts = {
      provider,
      sandbox,
      ownNode,
      sovereignty: { level, countries, countriesKind, zeroDataRetention, trainsOnData },
    };
    const key = JSON.stringify(facts);
    const policyClass = this.#classes.get(key) ?? { index: this.#classes.size, facts };
    this.#classes.set(key, policyClass);
    return policyClass;
  }
}
