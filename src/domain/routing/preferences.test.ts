import { describe, expect, test } from "vitest";
import { endpointOf, planned, providersOf, refusal, requestOf, worldOf } from "../../../tests/support/routing.ts";
import type { ProviderPreferences } from "../../language/canon/routing-hints.ts";
import { policyFromHints } from "./preferences.ts";

const world = () =>
  worldOf([
    endpointOf({ provider: "a", price: "1" }),
    endpointOf({ provider: "b", region: "de", price: "2" }),
    endpointOf({ provider: "b", region: "fr", price: "3" }),
    endpointOf({ provider: "c", price: "4" }),
  ]);

const tried = (provider: ProviderPreferences) =>
  planned(requestOf({ hints: { provider } }), world()).attempts.map(
    ({ endpoint }) => `${endpoint.provider}/${endpoint.region}`,
  );

describe("PARAM-05 preferences narrow and order the eligible endpoints", () => {
  test("PARAM-05 only and ignore match a provider, a provider with region, or an endpoint", () => {
    expect(tried({ only: ["b"] })).toEqual(["b/de", "b/fr"]);
    expect(tried({ only: ["b/fr", "c:eu:acme/one"] })).toEqual(["b/fr", "c/eu"]);
    expect(tried({ ignore: ["a", "b/de"] })).toEqual(["b/fr", "c/eu"]);
    expect(tried({ only: ["a", "b"], ignore: ["b"] })).toEqual(["a/eu"]);
    // Nobody of that name is here, so nobody is left out.
    expect(tried({ ignore: ["unheard-of"] })).toEqual(["a/eu", "b/de", "b/fr", "c/eu"]);
  });

  test("PARAM-05 listed endpoints come first, the others keep their default order", () => {
    expect(tried({ order: ["c", "unheard-of", "b/fr"] })).toEqual(["c/eu", "b/fr", "a/eu", "b/de"]);
    const plan = planned(requestOf({ hints: { provider: { order: ["c"] } } }), world());
    expect(plan.reason).toContain("first in the caller's order");
  });

  test("PARAM-05 without fallbacks only the first endpoint is tried, and with an order only a listed one", () => {
    expect(tried({ allowFallbacks: false })).toEqual(["a/eu"]);
    expect(tried({ allowFallbacks: true })).toHaveLength(4);
    expect(tried({ order: ["c", "b"], allowFallbacks: false })).toEqual(["c/eu"]);
    const problem = refusal(
      requestOf({ hints: { provider: { order: ["unheard-of"], allowFallbacks: false } } }),
      world(),
    );
    expect([problem.code, problem.param]).toEqual(["no_eligible_endpoint", "provider.order"]);
    const { candidates, order } = planned(
      requestOf({ hints: { provider: { allowFallbacks: false } } }),
      world(),
    ).decision();
    expect(order).toEqual(["a:eu:acme/one"]);
    expect(candidates.map(({ outcome }) => outcome)).toEqual(["planned", "excluded", "excluded", "excluded"]);
  });

  test("PARAM-05 sort by price, by throughput and by latency", () => {
    const fast = world();
    fast.measured("a", { firstByteMs: 500, totalMs: 900, outputTokens: 100 });
    fast.measured("b", { firstByteMs: 300, totalMs: 2300, outputTokens: 100 });
    fast.measured("c", { firstByteMs: 100, totalMs: 1100, outputTokens: 100 });
    const by = (sort: NonNullable<ProviderPreferences["sort"]>) =>
      providersOf(planned(requestOf({ hints: { provider: { sort } } }), fast));
    expect(by("price")).toEqual(["a", "b", "b", "c"]);
    expect(by("throughput")).toEqual(["a", "c", "b", "b"]);
    expect(by("latency")).toEqual(["c", "b", "b", "a"]);
  });

  test("PARAM-05 max_price is in US dollars per million tokens and per request, at the catalogue's exchange rate", () => {
    // 1.25 dollars for a euro: the prices are 1.25, 2.5, 3.75 and 5.
    expect(tried({ maxPrice: { prompt: 2.5 } })).toEqual(["a/eu", "b/de"]);
    expect(tried({ maxPrice: { completion: 1.25 } })).toEqual(["a/eu"]);
    expect(tried({ maxPrice: { prompt: 4, completion: 2.6 } })).toEqual(["a/eu", "b/de"]);
    expect(tried({ maxPrice: { image: 0, request: 0 } })).toHaveLength(4);
    const problem = refusal(requestOf({ hints: { provider: { maxPrice: { prompt: 1.2 } } } }), world());
    expect([problem.code, problem.param]).toEqual(["no_eligible_endpoint", "provider.max_price"]);
    expect(problem.message).toContain("a:eu:acme/one (provider.max_price: its prompt price is 1.25 USD)");
    const perRequest = worldOf([
      endpointOf({ provider: "a", price: { input: "1", perRequest: "0.01" } }),
      endpointOf({ provider: "b", price: "2" }),
    ]);
    const hints = { provider: { maxPrice: { request: 0.0124 } } };
    expect(providersOf(planned(requestOf({ hints }), perRequest))).toEqual(["b"]);
    const rateless = { ...world(), walletPerUsd: undefined };
    expect(refusal(requestOf({ hints: { provider: { maxPrice: { prompt: 9 } } } }), rateless).message).toContain(
      "no exchange rate to US dollars",
    );
  });

  test("PARAM-05 zdr and data_collection act as policy, and allowing collection loosens nothing", () => {
    expect(policyFromHints({ provider: { zeroDataRetention: true } })).toEqual({
      zeroDataRetention: true,
      noTraining: false,
    });
    expect(policyFromHints({ provider: { dataCollection: "deny" } })).toEqual({
      zeroDataRetention: false,
      noTraining: true,
    });
    for (const provider of [{}, { dataCollection: "allow" }, { zeroDataRetention: false }] as const)
      expect(policyFromHints({ provider })).toBe(null);
    expect(policyFromHints(undefined)).toBe(null);
  });

  test("PARAM-05 no preference admits an endpoint that policy excludes", () => {
    const policy = { ...requestOf().policy, blockedProviders: ["a"] };
    for (const provider of [{ order: ["a"] }, { only: ["a", "c"] }, { sort: "price" }] as const) {
      const plan = planned(requestOf({ policy, hints: { provider } }), world());
      expect(providersOf(plan)).not.toContain("a");
    }
    const problem = refusal(requestOf({ policy, hints: { provider: { only: ["a"] } } }), world());
    expect(problem.code).toBe("no_eligible_endpoint");
    expect(problem.message).toContain("provider_blocked");
    expect(problem.message).toContain("provider.only");
  });

  test("PARAM-05 session affinity outranks a sort, and the caller's order outranks session affinity", () => {
    const session = { endpoint: "c:eu:acme/one", seenTokens: 0 };
    const first = (provider: ProviderPreferences) =>
      providersOf(planned(requestOf({ session, hints: { sessionId: "s", provider } }), world()))[0];
    expect(first({ sort: "price" })).toBe("c");
    expect(first({ order: ["b"] })).toBe("b");
    expect(first({ only: ["a", "c"] })).toBe("c");
  });
});
