import { expect, test } from "vitest";
import { autoRoute, endpointOf, modelOf, requestOf, worldOf } from "../../../tests/support/routing.ts";
import { HOUR_MS } from "../../kit/time.ts";
import { planAttempts } from "./plan.ts";
import { type RejectedClaims, rememberRejection } from "./rejected-claims.ts";

const NOW_MS = 1_900_000_000_000;
const cheap = endpointOf({ provider: "cheap", price: "1" });
const dear = endpointOf({ provider: "dear", price: "2" });
const LOGPROBS = requestOf({
  requirements: { needs: [], parameters: ["logprobs"], inputTokens: 1, maxOutputTokens: undefined },
});

function planned(rejectedClaims: RejectedClaims, nowMs = NOW_MS, request = LOGPROBS): string[] {
  const plan = planAttempts(request, { ...worldOf([cheap, dear]), rejectedClaims, nowMs });
  return plan.is === "planned" ? plan.attempts.map(({ endpoint }) => endpoint.provider) : [];
}

test("PARAM-09 an endpoint that rejected a parameter is left out for an hour, for that parameter alone", () => {
  const claims: RejectedClaims = new Map();
  expect(planned(claims)).toEqual(["cheap", "dear"]);
  rememberRejection(claims, cheap.id, "logprobs", NOW_MS);
  expect(planned(claims)).toEqual(["dear"]);
  expect(planned(claims, NOW_MS, requestOf())).toEqual(["cheap", "dear"]);
  expect(planned(claims, NOW_MS + HOUR_MS)).toEqual(["cheap", "dear"]);
});

test("PARAM-09 if all rejected it, all stay", () => {
  const claims: RejectedClaims = new Map();
  for (const { id } of [cheap, dear]) rememberRejection(claims, id, "logprobs", NOW_MS);
  expect(planned(claims)).toEqual(["cheap", "dear"]);
});

test("PARAM-09 a router leaves the endpoint out of its pool and keeps its fallbacks apart", () => {
  const claims: RejectedClaims = new Map();
  rememberRejection(claims, cheap.id, "logprobs", NOW_MS);
  const models = [modelOf("acme/one"), modelOf("acme/two")];
  const other = endpointOf({ provider: "other", model: "acme/two", price: "1" });
  const target = autoRoute({ models: ["acme/one"], fallback: ["acme/two"] });
  const world = { ...worldOf([cheap, dear, other], { models }), rejectedClaims: claims };
  const plan = planAttempts({ ...LOGPROBS, target }, world);
  expect(plan.is === "planned" && plan.attempts.map(({ endpoint }) => endpoint.provider)).toEqual(["dear", "other"]);
});

test("PARAM-09 expired entries are removed, and names of other dialects are the same parameter", () => {
  const claims: RejectedClaims = new Map();
  rememberRejection(claims, "a", "thinking", NOW_MS);
  expect([...(claims.get("a") ?? [])]).toEqual([["reasoning_effort", NOW_MS + HOUR_MS]]);
  rememberRejection(claims, "b", "seed", NOW_MS + HOUR_MS);
  expect([...claims.keys()]).toEqual(["b"]);
});
