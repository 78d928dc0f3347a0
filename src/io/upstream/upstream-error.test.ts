import { expect, test } from "vitest";
import { fault } from "../../contract/faults.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";
import { decodeDecisionProblem } from "../../language/decisions/wire-format.ts";
import { decodeProblem as decodeChat } from "../../language/dialects/chat/upstream/errors.ts";
import { decodeProblem as decodeConverse } from "../../language/dialects/converse/upstream/errors.ts";
import { decodeProblem as decodeGemini } from "../../language/dialects/gemini/upstream/errors.ts";
import { decodeProblem as decodeMessages } from "../../language/dialects/messages/upstream/errors.ts";
import { decodeProblem as decodeResponses } from "../../language/dialects/responses/upstream/errors.ts";
import { attributeToNode, attributeToOwnKey, classifyStatus, redactVerdict } from "./classify-failure.ts";
import { cleanMessage, cleanUpstreamError, upstreamErrorFor } from "./upstream-error.ts";

const shown = (problem: UpstreamProblem, status = 400) =>
  cleanUpstreamError(upstreamErrorFor(problem, status, "acme"), []);
const badRequest = (more: object) => ({
  provider: "acme",
  status: 400,
  type: null,
  code: null,
  param: null,
  message: "no",
  ...more,
});

test.each<[string, UpstreamProblem, object]>([
  [
    "OpenAI",
    decodeChat(
      {
        error: { message: "no", type: "invalid_request_error", param: "messages", code: "context_length_exceeded" },
      },
      400,
    ),
    { type: "invalid_request_error", param: "messages", code: "context_length_exceeded" },
  ],
  [
    "Groq with the failed tool call",
    decodeChat(
      { error: { message: "no", type: "invalid_request_error", code: "tool_use_failed", failed_generation: "<f=x>" } },
      400,
    ),
    { type: "invalid_request_error", code: "tool_use_failed", failed_generation: "<f=x>" },
  ],
  [
    "Mistral with a list of issues",
    decodeChat(
      {
        object: "error",
        message: { detail: [{ type: "missing", loc: ["body", "messages", 0, "role"], msg: "Field required" }] },
        type: "invalid_request_error",
        param: null,
        code: null,
      },
      422,
    ),
    { type: "invalid_request_error", param: "messages.0.role", message: "messages.0.role: Field required" },
  ],
  ["Mistral with a numeric code", decodeChat({ object: "error", message: "no", code: 3051 }, 400), { code: "3051" }],
  [
    "vLLM, whose code is the status",
    decodeChat({ message: "no", type: "BadRequestError", code: 400 }, 400),
    { type: "BadRequestError" },
  ],
  [
    "FastAPI",
    decodeChat({ detail: [{ loc: ["body", "top_k"], msg: "too big" }] }, 422),
    { param: "top_k", message: "top_k: too big" },
  ],
  [
    "xAI",
    decodeChat({ code: "Client specified an invalid argument", error: "no" }, 400),
    { code: "Client specified an invalid argument" },
  ],
  ["TGI", decodeChat({ error: "no", error_type: "validation" }, 422), { type: "validation" }],
  ["Cloudflare", decodeChat({ success: false, errors: [{ code: 5006, message: "no" }] }, 400), { code: "5006" }],
  [
    "a key that the message rejects keeps its own code",
    decodeChat({ error: { message: "Incorrect API key provided", code: "invalid_key" } }, 400),
    { code: "invalid_key", message: "Incorrect API key provided" },
  ],
  [
    "Google",
    decodeGemini(
      {
        error: {
          code: 400,
          message: "no",
          status: "INVALID_ARGUMENT",
          details: [
            { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field: "contents[0]" }] },
          ],
        },
      },
      400,
    ),
    { type: "INVALID_ARGUMENT", code: "INVALID_ARGUMENT", param: "contents[0]" },
  ],
  [
    "Google with a reason",
    decodeGemini(
      { error: { message: "no", status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] } },
      400,
    ),
    { type: "INVALID_ARGUMENT", code: "API_KEY_INVALID" },
  ],
  [
    "AWS by its type",
    decodeConverse({ __type: "com.amazon.coral.service#ValidationException", message: "no" }, 400, {}),
    { code: "ValidationException" },
  ],
  [
    "AWS by its header, with a field",
    decodeConverse({ Message: "no", fieldList: [{ path: "messages.0", message: "bad" }] }, 400, {
      "x-amzn-errortype": "ValidationException:http://internal",
    }),
    { code: "ValidationException", param: "messages.0" },
  ],
  [
    "Anthropic",
    decodeMessages({ type: "error", error: { type: "invalid_request_error", message: "no" } }, 400),
    { type: "invalid_request_error" },
  ],
  [
    "Anthropic with a code",
    decodeMessages(
      { type: "error", error: { type: "invalid_request_error", message: "no", details: { error_code: "x_y" } } },
      400,
    ),
    { type: "invalid_request_error", code: "x_y" },
  ],
  [
    "a failed response",
    decodeResponses({ type: "response.failed", response: { error: { code: "invalid_prompt", message: "no" } } }, null),
    { code: "invalid_prompt" },
  ],
  ["decisions", decodeDecisionProblem({ detail: [{ loc: ["body", "state"], msg: "no" }] }, 422), { param: "state" }],
])("ERR-14 the error of %s keeps its own type, code, param and message", (_, problem, expected) => {
  expect(shown(problem)).toEqual(badRequest(expected));
});

test.each([
  ["a nested message", { error: { message: { a: { b: [1] } }, code: { x: 1 }, type: ["y"], param: { z: 1 } } }],
  ["nested issues", { detail: [{ loc: [["a"], { b: 1 }], msg: { deep: true } }] }],
  ["listed errors", { errors: [{ code: [[["a"]]], message: {} }] }],
  ["a body that is text", "oops"],
])("ERR-14 %s of a hostile provider adds nothing but strings", (_, body) => {
  for (const problem of [
    decodeChat(body, 400),
    decodeGemini(body, 400),
    decodeMessages(body, 400),
    decodeConverse(body, 400, {}),
    decodeDecisionProblem(body, 400),
  ])
    expect(shown(problem)).toEqual(badRequest({ message: "the provider stated no reason" }));
});

test("ERR-14 a deeply nested path of an issue is ignored, not joined", () => {
  let loc: unknown = "x";
  for (let depth = 0; depth < 50_000; depth += 1) loc = [loc];
  expect(decodeChat({ detail: [{ loc, msg: "no" }] }, 422).message).toBe("no");
  expect(decodeDecisionProblem({ errors: [{ code: loc, message: "no" }] }, 422).message).toBe("no");
});

test("ERR-14 long texts are cut after secrets are redacted, so that no part of one remains", () => {
  const secret = "platform-canary-5d41402abc4b2a76";
  const at = (fill: number) => `${"x".repeat(fill)}${secret}${"y".repeat(100_000)}`;
  for (const fill of [0, 1990, 1999, 2000, 7990])
    expect(cleanMessage(at(fill), [secret])).not.toMatch(/platform|canary/);
  const error = { provider: "acme", status: 400, type: at(0), code: at(190), param: at(199), message: at(1995) };
  const cleaned = cleanUpstreamError({ ...error, failed_generation: at(7995) }, [secret]);
  expect(JSON.stringify(cleaned)).not.toMatch(/platform|canary/);
  const { type, code, param, message, failed_generation } = cleaned;
  expect([type, code, param, message, failed_generation].map((text) => text?.length)).toEqual([
    200, 200, 200, 2000, 8000,
  ]);
});

test.each([
  ["Unknown Bearer sk-live-0123456789abcdef", "Unknown [redacted]"],
  ["key sk-proj-0123456789 is odd", "key [redacted] is odd"],
  ["at https://x.test/v1?key=AIzaSyD0123456789abc", "at https://x.test/v1[redacted]"],
  ["\u001b[31mred\u001b[0m\u0000 \u0007bell", "red bell"],
  ["left\u202eright\u2066", "leftright"],
  ["two\nlines\tand\rmore", "two\nlines\tandmore"],
  ["a lone \ud800 surrogate", "a lone \ufffd surrogate"],
])("ERR-14 %j is shown without secrets and control characters", (sent, expected) => {
  expect(cleanMessage(sent, [])).toBe(expected);
});

const problem = { message: "Bad key own-canary-81f3b0c2d4e5", code: "invalid_api_key", type: "auth", status: null };

test.each([401, 402, 403, 404])(
  "ERR-14 status %i of the platform's credential is hidden, of an own key shown",
  (status) => {
    const verdict = redactVerdict(classifyStatus(status, {}, problem, "acme"), ["own-canary-81f3b0c2d4e5"]);
    if (verdict.is !== "next") throw new Error("expected the verdict next");
    expect(verdict.finalFault.upstream).toBeUndefined();
    const own = attributeToOwnKey(verdict, "acme", status);
    const expected = {
      provider: "acme",
      status,
      type: "auth",
      code: "invalid_api_key",
      param: null,
      message: "Bad key [redacted]",
    };
    expect(own.is === "next" && [own.finalFault.upstream, own.faultFor?.("x").upstream]).toEqual([expected, expected]);
    const node = attributeToNode(verdict, "rack", status);
    expect(node.is === "next" && node.finalFault.upstream).toBeUndefined();
  },
);

test("ERR-14 a fault does not serialize the provider's error, so that no logger writes it", () => {
  const upstream = upstreamErrorFor(problem, 400, "acme");
  const refused = fault("provider_error", { message: "m", status: 400, upstream });
  expect(refused.upstream).toEqual(upstream);
  expect(refused.reworded({ message: "n" }).upstream).toEqual(upstream);
  expect(JSON.stringify({ ...refused })).not.toContain("canary");
});
