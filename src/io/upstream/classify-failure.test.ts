import { expect, test } from "vitest";
import { endpointOf } from "../../../tests/support/routing.ts";
import { fault } from "../../contract/faults.ts";
import {
  attributeToNode,
  attributeToOwnKey,
  classifyCredentialFailure,
  classifyExcluded,
  classifyFailure,
  classifyMalformed,
  classifyNodeOffline,
  classifyStatus,
  classifyWithdrawn,
  type FailureVerdict,
  faultEndedBy,
} from "./classify-failure.ts";

const NO_WORDS = { message: "m", code: null, type: null, status: null };

function shown(verdict: FailureVerdict) {
  if (verdict.is === "busy") return verdict;
  if (verdict.is === "stop") return { is: "stop", status: verdict.fault.status, code: verdict.fault.code };
  const { finalFault, blame, retrySameAfterMs, mayHaveBeenAccepted } = verdict;
  return {
    is: "next",
    status: finalFault.status,
    code: finalFault.code,
    on: blame.on,
    againAfterMs: retrySameAfterMs,
    maybeAccepted: mayHaveBeenAccepted,
  };
}

const next = (status: number, code: string, on: string, more: object = {}) => ({
  is: "next",
  status,
  code,
  on,
  againAfterMs: undefined,
  maybeAccepted: false,
  ...more,
});
const stop = (status: number) => ({ is: "stop", status, code: "provider_error" });

const STATUSES: readonly (readonly [number, object])[] = [
  ...[400, 409, 413, 415, 422].map((status) => [status, stop(status)] as const),
  ...[401, 402, 403, 404].map((status) => [status, next(502, "upstream_error", "operator")] as const),
  [408, next(504, "upstream_timeout", "endpoint", { maybeAccepted: true })],
  [429, next(429, "rate_limit_exceeded", "endpoint")],
  [500, next(502, "upstream_error", "endpoint")],
  [502, next(502, "upstream_error", "endpoint", { maybeAccepted: true })],
  [503, next(502, "upstream_error", "endpoint")],
  [504, next(504, "upstream_timeout", "endpoint", { maybeAccepted: true })],
  [508, next(502, "upstream_error", "nobody")],
  [529, next(502, "upstream_error", "endpoint")],
  ...[204, 206, 301, 307, 405, 418, 501, 599].map(
    (status) => [status, next(502, "upstream_error", "endpoint")] as const,
  ),
];

test.each(STATUSES)("ROUTE-04 ERR-06 ERR-07 status %i: who is blamed, and what follows", (status, expected) => {
  expect(shown(classifyStatus(status, {}, NO_WORDS, "acme"))).toEqual(expected);
});

test.each([
  [403, { code: "content_policy_violation" }, stop(403)],
  [403, { type: "content_filter" }, stop(403)],
  [403, { code: "moderation_blocked" }, stop(403)],
  [403, { code: "safety_violations" }, stop(403)],
  [403, { message: "Account suspended: content policy." }, next(502, "upstream_error", "operator")],
  [400, { code: "invalid_api_key" }, next(502, "upstream_error", "operator")],
  [400, { message: "Invalid schema for function 'invalid_api_key'." }, stop(400)],
  [400, { message: "invalid_api_key: Extra inputs are not permitted" }, stop(400)],
  [422, { message: "invalid api key: Extra inputs are not permitted" }, stop(422)],
  [400, { code: "Arrearage" }, next(502, "upstream_error", "operator")],
  [400, { code: "organization_restricted" }, next(502, "upstream_error", "operator")],
  [400, { code: "FAILED_PRECONDITION" }, next(502, "upstream_error", "operator")],
  [429, { code: "insufficient_quota" }, next(502, "upstream_error", "operator")],
])("ERR-06 status %i with %j is told by the provider's own words", (status, words, expected) => {
  expect(shown(classifyStatus(status, {}, { ...NO_WORDS, ...words }, "acme"))).toEqual(expected);
});

test.each([
  [429, "0", 0, 0],
  [429, "2", 2000, 2000],
  [429, "3", 3000, undefined],
  [503, "1", 1000, 1000],
  [503, "120", 120_000, undefined],
  [529, "2", 2000, 2000],
  [429, "90000", 90_000_000, undefined],
  [429, "999999999", 2_678_400_000, undefined],
  [429, "garbage", undefined, undefined],
  // Who failed is not believed when it comes to waiting.
  [500, "1", undefined, undefined],
  [401, "1", undefined, undefined],
])("RATE-07 ROUTE-05 %i with Retry-After %j", (status, header, asideMs, againMs) => {
  const verdict = classifyStatus(status, { "retry-after": header }, NO_WORDS, "acme");
  if (verdict.is !== "next") throw new Error("it did not move on");
  expect(verdict.blame.on === "endpoint" ? verdict.blame.retryAfterMs : undefined).toBe(asideMs);
  expect(verdict.retrySameAfterMs).toBe(againMs);
  const seconds = asideMs === undefined ? undefined : { "retry-after": String(asideMs / 1000) };
  expect(verdict.finalFault.headers).toEqual(seconds);
});

test.each([
  [{ "retry-after-ms": "1200" }, 2000],
  [{ "retry-after-ms": "350.5" }, 1000],
  [{ "retry-after-ms": "999999999999" }, 2_678_400_000],
  [{ "retry-after-ms": "soon" }, undefined],
  [{ "retry-after": "3", "retry-after-ms": "1200" }, 3000],
])("RATE-07 a wait that is told in milliseconds alone, %j", (headers, asideMs) => {
  const verdict = classifyStatus(429, headers, NO_WORDS, "acme");
  expect(verdict.is === "next" && verdict.blame).toEqual({ on: "endpoint", retryAfterMs: asideMs });
});

test.each([
  ["connect", false, next(502, "upstream_error", "endpoint", { againAfterMs: 100 })],
  ["timeout", false, next(504, "upstream_timeout", "endpoint", { againAfterMs: 100 })],
  ["timeout", true, next(504, "upstream_timeout", "endpoint", { maybeAccepted: true })],
  ["broken", true, next(502, "upstream_error", "endpoint", { maybeAccepted: true })],
  // The gateway gave up, so nobody else did wrong.
  ["aborted", true, next(502, "upstream_error", "nobody", { maybeAccepted: true })],
  ["aborted", false, next(502, "upstream_error", "nobody")],
  // Another instance of the gateway stops: no fault of the node behind it.
  ["leaving", true, next(503, "service_unavailable", "nobody", { maybeAccepted: true })],
  ["leaving", false, next(503, "service_unavailable", "nobody", { againAfterMs: 100 })],
] as const)("ROUTE-04 no answer (%s, sent: %s): only what was never sent may be said again", (kind, sent, expected) => {
  expect(shown(classifyFailure({ kind, sent, why: "E" }, "acme"))).toEqual(expected);
});

test("NODE-02 who takes no more requests is as if not asked: blamed for nothing, and not asked again", () => {
  const verdict = classifyFailure({ kind: "busy", sent: false, why: "E" }, "acme");
  expect(verdict).toEqual({ is: "busy", why: "E" });
  expect(attributeToNode(verdict, "rack", null)).toBe(verdict);
});

test("ROUTE-04 an answer that is none may have been paid for; an endpoint that policy took away was never asked", () => {
  expect(shown(classifyMalformed("HTML", "acme"))).toEqual(
    next(502, "upstream_error", "endpoint", { maybeAccepted: true }),
  );
  const refusal = fault("provider_blocked", { message: "m" });
  expect(shown(classifyExcluded("blocked", refusal))).toEqual(next(403, "provider_blocked", "nobody"));
});

test("BILL-08 a credential that its issuer refuses is the operator's matter, and with an own key the workspace's", () => {
  const verdict = classifyCredentialFailure("acme");
  expect(shown(verdict)).toEqual(next(502, "upstream_error", "operator"));
  const own = attributeToOwnKey(verdict, "acme", null);
  expect(shown(own)).toEqual(next(502, "upstream_error", "workspace"));
  expect(own.why).toBe("your key for acme was refused");
});

const at = (status: number) => classifyStatus(status, {}, NO_WORDS, "acme");
const silent = classifyFailure({ kind: "timeout", why: "t", sent: true }, "acme");

test.each<[string, FailureVerdict, (reason: string) => string]>([
  ["is broken", at(500), (reason) => `The provider acme gave no usable answer and ${reason}. Try again.`],
  ["is silent", silent, (reason) => `The provider acme did not answer in time and ${reason}. Try again.`],
  ["is busy", at(429), (reason) => `The provider acme is at its rate limit and ${reason}. Try again shortly.`],
  [
    "refuses an own key",
    attributeToOwnKey(at(401), "acme", 401),
    (reason) =>
      `The provider acme did not accept the workspace's own key (401), and ${reason}. An admin of the workspace can test it, or connect another one.`,
  ],
  [
    "is a broken node",
    attributeToNode(at(500), "rack", 500),
    (reason) => `The node rack gave no usable answer and ${reason}. Try again, or look after its server.`,
  ],
  [
    "is a silent node",
    attributeToNode(silent, "rack", null),
    (reason) => `The node rack did not answer in time and ${reason}. Try again.`,
  ],
  [
    "is a node that refuses",
    attributeToNode(at(401), "rack", 401),
    (reason) =>
      `The local server of the node rack refused the request (401), and ${reason}. Look at its key and its models.`,
  ],
  [
    "is a node that went",
    classifyNodeOffline("rack", "lab/writer"),
    (reason) =>
      `The node rack has just stopped serving lab/writer, and ${reason}. Try again shortly, or look after its agent.`,
  ],
  [
    "gives no whole answer",
    classifyMalformed("no other endpoint is left", "acme", { code: "upstream_invalid_answer", model: "lab/judge" }),
    (reason) =>
      `The provider acme gave no usable answer of lab/judge (no other endpoint is left), and ${reason}. Try again, or ask another model.`,
  ],
  [
    "was taken away by policy, whose words name no reason",
    classifyExcluded("blocked", fault("provider_blocked", { message: "no other endpoint is left" })),
    () => "no other endpoint is left",
  ],
])("ERR-01 the last one that was asked %s: the caller hears why nobody else is", (_, verdict, words) => {
  if (verdict.is !== "next") throw new Error("nobody else would be asked");
  expect(verdict.finalFault.message).toBe(words("no other endpoint is left"));
  const ended = faultEndedBy(verdict, "the time is up");
  expect(ended).toMatchObject({
    code: verdict.finalFault.code,
    headers: verdict.finalFault.headers,
    detail: verdict.finalFault.detail,
  });
  expect(ended.message).toBe(words("the time is up"));
});

test("NODE-02 ERR-11 an endpoint that was withdrawn is not found; a node that went is away, and may be asked again", () => {
  const endpoint = endpointOf({ provider: "acme", model: "lab/writer" });
  expect(shown(classifyWithdrawn(endpoint))).toEqual(next(404, "model_not_found", "nobody"));
  expect(shown(classifyNodeOffline("rack", endpoint.model))).toEqual(next(502, "upstream_error", "nobody"));
});
