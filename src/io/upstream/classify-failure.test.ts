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

const NO_DETAILS = { message: "m", code: null, type: null, status: null };

function summarize(verdict: FailureVerdict) {
  if (verdict.is === "busy") return verdict;
  if (verdict.is === "stop") return { is: "stop", status: verdict.fault.status, code: verdict.fault.code };
  const { finalFault, blame, retrySameAfterMs, mayHaveBeenAccepted } = verdict;
  return {
    is: "next",
    status: finalFault.status,
    code: finalFault.code,
    on: blame.on,
    retrySameAfterMs,
    mayHaveBeenAccepted,
  };
}

const next = (status: number, code: string, on: string, extra: object = {}) => ({
  is: "next",
  status,
  code,
  on,
  retrySameAfterMs: undefined,
  mayHaveBeenAccepted: false,
  ...extra,
});
const stop = (status: number) => ({ is: "stop", status, code: "provider_error" });

const STATUSES: readonly (readonly [number, object])[] = [
  ...[400, 409, 413, 415, 422].map((status) => [status, stop(status)] as const),
  ...[401, 402, 403, 404].map((status) => [status, next(502, "upstream_error", "operator")] as const),
  [408, next(504, "upstream_timeout", "endpoint", { mayHaveBeenAccepted: true })],
  [429, next(429, "rate_limit_exceeded", "endpoint")],
  [500, next(502, "upstream_error", "endpoint")],
  [502, next(502, "upstream_error", "endpoint", { mayHaveBeenAccepted: true })],
  [503, next(502, "upstream_error", "endpoint")],
  [504, next(504, "upstream_timeout", "endpoint", { mayHaveBeenAccepted: true })],
  [508, next(502, "upstream_error", "none")],
  [529, next(502, "upstream_error", "endpoint")],
  ...[204, 206, 301, 307, 405, 418, 501, 599].map(
    (status) => [status, next(502, "upstream_error", "endpoint")] as const,
  ),
];

test.each(STATUSES)("ROUTE-04 ERR-06 ERR-07 status %i gets its verdict and blame", (status, expected) => {
  expect(summarize(classifyStatus(status, {}, NO_DETAILS, "acme"))).toEqual(expected);
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
])("ERR-06 status %i with %j is classified by the provider's error details", (status, details, expected) => {
  expect(summarize(classifyStatus(status, {}, { ...NO_DETAILS, ...details }, "acme"))).toEqual(expected);
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
  // Retry-After counts only for rate limits and overload.
  [500, "1", undefined, undefined],
  [401, "1", undefined, undefined],
])("RATE-07 ROUTE-05 %i with Retry-After %j", (status, header, retryAfterMs, retrySameMs) => {
  const verdict = classifyStatus(status, { "retry-after": header }, NO_DETAILS, "acme");
  if (verdict.is !== "next") throw new Error("expected the verdict next");
  expect(verdict.blame.on === "endpoint" ? verdict.blame.retryAfterMs : undefined).toBe(retryAfterMs);
  expect(verdict.retrySameAfterMs).toBe(retrySameMs);
  const defaultHeaders = status === 429 ? { "retry-after": "5" } : undefined;
  expect(verdict.finalFault.headers).toEqual(
    retryAfterMs === undefined ? defaultHeaders : { "retry-after": String(retryAfterMs / 1000) },
  );
});

test.each([
  [{ "retry-after-ms": "1200" }, 2000],
  [{ "retry-after-ms": "350.5" }, 1000],
  [{ "retry-after-ms": "999999999999" }, 2_678_400_000],
  [{ "retry-after-ms": "soon" }, undefined],
  [{ "retry-after": "3", "retry-after-ms": "1200" }, 3000],
])("RATE-07 a wait in milliseconds: %j", (headers, retryAfterMs) => {
  const verdict = classifyStatus(429, headers, NO_DETAILS, "acme");
  expect(verdict.is === "next" && verdict.blame).toEqual({ on: "endpoint", retryAfterMs: retryAfterMs });
});

test.each([
  ["connect", false, next(502, "upstream_error", "endpoint", { retrySameAfterMs: 100 })],
  ["timeout", false, next(504, "upstream_timeout", "endpoint", { retrySameAfterMs: 100 })],
  ["timeout", true, next(504, "upstream_timeout", "endpoint", { mayHaveBeenAccepted: true })],
  ["broken", true, next(502, "upstream_error", "endpoint", { mayHaveBeenAccepted: true })],
  // The gateway itself aborted the attempt.
  ["aborted", true, next(502, "upstream_error", "none", { mayHaveBeenAccepted: true })],
  ["aborted", false, next(502, "upstream_error", "none")],
  // A peer is stopping, which says nothing about the node.
  ["leaving", true, next(503, "service_unavailable", "none", { mayHaveBeenAccepted: true })],
  ["leaving", false, next(503, "service_unavailable", "none", { retrySameAfterMs: 100 })],
] as const)(
  "ROUTE-04 no response (%s, sent: %s): only an unsent request is retried at the same endpoint",
  (kind, sent, expected) => {
    expect(summarize(classifyFailure({ kind, sent, why: "E" }, "acme"))).toEqual(expected);
  },
);

test("NODE-02 a node at capacity counts as not called: no blame and no retry", () => {
  const verdict = classifyFailure({ kind: "busy", sent: false, why: "E" }, "acme");
  expect(verdict).toEqual({ is: "busy", why: "E" });
  expect(attributeToNode(verdict, "rack", null)).toBe(verdict);
});

test("ROUTE-04 a malformed reply may be billed; an endpoint excluded by policy was never called", () => {
  expect(summarize(classifyMalformed("HTML", "acme"))).toEqual(
    next(502, "upstream_error", "endpoint", { mayHaveBeenAccepted: true }),
  );
  const refusal = fault("provider_blocked", { message: "m" });
  expect(summarize(classifyExcluded("blocked", refusal))).toEqual(next(403, "provider_blocked", "none"));
});

test("BILL-08 a refused credential is blamed on the operator, an own key on the workspace", () => {
  const verdict = classifyCredentialFailure("acme");
  expect(summarize(verdict)).toEqual(next(502, "upstream_error", "operator"));
  const own = attributeToOwnKey(verdict, "acme", null);
  expect(summarize(own)).toEqual(next(502, "upstream_error", "workspace"));
  expect(own.why).toBe("your key for acme was rejected");
});

const at = (status: number) => classifyStatus(status, {}, NO_DETAILS, "acme");
const timedOut = classifyFailure({ kind: "timeout", why: "t", sent: true }, "acme");

test.each<[string, FailureVerdict, (reason: string) => string]>([
  ["fails", at(500), (reason) => `The provider acme returned no usable response, and ${reason}. Try again.`],
  ["times out", timedOut, (reason) => `The provider acme did not respond in time, and ${reason}. Try again.`],
  ["is busy", at(429), (reason) => `The provider acme is at its rate limit, and ${reason}. Try again shortly.`],
  [
    "rejects an own key",
    attributeToOwnKey(at(401), "acme", 401),
    (reason) =>
      `The provider acme rejected the workspace's own key (401), and ${reason}. An admin of the workspace can test the key, or connect another one.`,
  ],
  [
    "is a failing node",
    attributeToNode(at(500), "rack", 500),
    (reason) => `The node rack returned no usable response, and ${reason}. Try again, or check its local server.`,
  ],
  [
    "is a node that times out",
    attributeToNode(timedOut, "rack", null),
    (reason) => `The node rack did not respond in time, and ${reason}. Try again.`,
  ],
  [
    "is a node that rejects the request",
    attributeToNode(at(401), "rack", 401),
    (reason) =>
      `The local server of the node rack rejected the request (401), and ${reason}. Check its key and its models.`,
  ],
  [
    "is a node that disconnected",
    classifyNodeOffline("rack", "lab/writer"),
    (reason) => `The node rack no longer serves lab/writer, and ${reason}. Try again shortly, or check its agent.`,
  ],
  [
    "returns an invalid reply",
    classifyMalformed("no other endpoint is available", "acme", {
      code: "upstream_invalid_answer",
      model: "lab/judge",
    }),
    (reason) =>
      `The provider acme returned no usable response of lab/judge (no other endpoint is available), and ${reason}. Try again, or use another model.`,
  ],
  [
    "is excluded by policy, whose message names no reason",
    classifyExcluded("blocked", fault("provider_blocked", { message: "no other endpoint is available" })),
    () => "no other endpoint is available",
  ],
])("ERR-01 the last endpoint %s: the message says why no other is called", (_, verdict, details) => {
  if (verdict.is !== "next") throw new Error("expected the verdict next");
  expect(verdict.finalFault.message).toBe(details("no other endpoint is available"));
  const finalFault = faultEndedBy(verdict, "the time is up");
  expect(finalFault).toMatchObject({
    code: verdict.finalFault.code,
    headers: verdict.finalFault.headers,
    detail: verdict.finalFault.detail,
  });
  expect(finalFault.message).toBe(details("the time is up"));
});

test("NODE-02 ERR-11 a withdrawn endpoint is not found; a disconnected node is retryable", () => {
  const endpoint = endpointOf({ provider: "acme", model: "lab/writer" });
  expect(summarize(classifyWithdrawn(endpoint))).toEqual(next(404, "model_not_found", "none"));
  expect(summarize(classifyNodeOffline("rack", endpoint.model))).toEqual(next(502, "upstream_error", "none"));
});
