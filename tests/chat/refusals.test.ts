import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import { credentialOf, openScene, type Scene } from "../support/scene.ts";
import type { Script } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra", "ovhcloud"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

/** Both providers answer the next request alike. */
function both(script: Script): void {
  for (const provider of ["deepinfra", "ovhcloud"] as const) scene.at(provider).next(script);
}

/** Removes queued scripts that the gateway did not use. */
async function drainQueue(): Promise<void> {
  const { status } = await scene.chat(tenant.key, {});
  expect(status).toBeGreaterThan(0);
}

const REASONS = [
  [
    "the dialect's own envelope",
    { error: { message: "messages.0 is odd", type: "invalid_request_error", code: null } },
  ],
  ["a bare message", { message: "messages.0 is odd" }],
  ["an error that is text", { error: "messages.0 is odd" }],
  ["a detail", { detail: "messages.0 is odd" }],
  ["a list of details", { detail: [{ loc: ["body"], msg: "messages.0 is odd", type: "value_error" }] }],
  ["an envelope inside a list", [{ error: { message: "messages.0 is odd" } }]],
] as const;

describe("a provider refuses the caller's own request", () => {
  test.each([400, 409, 413, 415, 422])(
    "ERR-06 %i is passed on with its status and message, and no other provider is called or charged",
    async (status) => {
      const before = scene.at("ovhcloud").requests.length;
      const caller = await scene.gateway.tenant();
      for (const stream of [false, true]) {
        scene.at("deepinfra").next({ status, json: { error: { message: `refused with ${status}` } } });
        const answer = await scene.chat(caller.key, { stream });
        expect(answer.status).toBe(status);
        expect(answer.body).toEqual({
          error: {
            message: `refused with ${status}`,
            type: "upstream_error",
            code: "provider_error",
            request_id: answer.headers.get("x-svc-request-id"),
            upstream: {
              provider: "deepinfra",
              status,
              type: null,
              code: null,
              param: null,
              message: `refused with ${status}`,
            },
          },
        });
        const row = await scene.row(answer.body.error.request_id);
        expect(row).toMatchObject({ status, error_code: "provider_error", cost: "0.00" });
        expect(row.attempts).toMatchObject([{ provider: "deepinfra", outcome: "stop", upstream_status: status }]);
      }
      expect(scene.at("ovhcloud").requests.length).toBe(before);
      expect(await scene.charges(caller)).toEqual([]);
    },
  );

  test.each(REASONS)("ERR-06 its message is found in %s", async (_, json) => {
    scene.at("deepinfra").next({ status: 400, json });
    const { body } = await scene.chat(tenant.key);
    expect(body.error.message).toBe("messages.0 is odd");
  });

  const FIELD_ERRORS = [
    { type: "extra_forbidden", loc: ["body", "x"], msg: "Extra inputs are not permitted", input: "the caller's own" },
    { type: "missing", loc: ["body", "messages", 0, "user", "content"], msg: "Field required", input: {} },
  ];
  const PLACED = "x: Extra inputs are not permitted; messages.0.user.content: Field required";

  test.each([
    ["a detail", { detail: FIELD_ERRORS }],
    ["a message with a detail", { object: "error", message: { detail: FIELD_ERRORS }, type: "invalid_request_error" }],
    ["a message and a detail", { object: "Error", detail: FIELD_ERRORS, message: FIELD_ERRORS, code: 3001 }],
  ])("ERR-06 a list of fields in %s names each of them, without their values", async (_, json) => {
    scene.at("deepinfra").next({ status: 422, json });
    const { body } = await scene.chat(tenant.key);
    expect(body.error.message).toBe(PLACED);
  });

  test("ERR-06 a refusal without a reason, or in HTML, is still a refusal", async () => {
    for (const script of [
      { status: 400, body: "" },
      { status: 413, body: "<html>too large</html>", headers: { "content-type": "text/html" } },
      { status: 422, json: "text" },
      { status: 400, body: `{"error":{"message":"${"long ".repeat(40_000)}"}}` },
    ] satisfies Script[]) {
      scene.at("deepinfra").next(script);
      const { status, body } = await scene.chat(tenant.key);
      expect([status, body.error.code]).toEqual([script.status, "provider_error"]);
      expect(body.error.message.length).toBeGreaterThan(5);
      expect(body.error.message.length).toBeLessThan(2500);
      expect(body.error.message).not.toContain("<html>");
    }
  });

  test("ERR-06 a content policy refusal is passed on as 403; any other 403 is the operator's problem", async () => {
    scene
      .at("deepinfra")
      .next({ status: 403, json: { error: { message: "not this", code: "content_policy_violation" } } });
    const passed = await scene.chat(tenant.key);
    expect([passed.status, passed.body.error.code, passed.body.error.message]).toEqual([
      403,
      "provider_error",
      "not this",
    ]);
  });

  test("ERR-06 an error at the beginning of a stream is classified by the status it names", async () => {
    scene.at("deepinfra").next({ frames: ['data: {"error":{"message":"bad tool schema","code":400}}\n\n'] });
    const { status, body } = await scene.chat(tenant.key, { stream: true });
    expect([status, body.error.code, body.error.message]).toEqual([400, "provider_error", "bad tool schema"]);
  });
});

describe("a provider refuses the operator", () => {
  const FOR_THE_OPERATOR: readonly (readonly [string, Script])[] = [
    ["401", { status: 401, json: { error: { message: "Incorrect API key provided" } } }],
    ["402", { status: 402, json: { error: { message: "Insufficient balance" } } }],
    ["403", { status: 403, json: { error: { message: "Account suspended" } } }],
    ["404", { status: 404, json: { error: { message: "No such deployment" } } }],
    [
      "400 for a bad key",
      { status: 400, json: { error: { message: "API key not valid. Please pass a valid API key." } } },
    ],
    [
      "400 for an incorrect key",
      {
        status: 400,
        json: { code: "Client specified an invalid argument", error: "Incorrect API key provided: ab***cd." },
      },
    ],
  ];
  test.each(FOR_THE_OPERATOR)("ERR-06 %s fails over, then 502 without the provider's message", async (_, script) => {
    scene.at("deepinfra").next(script);
    const moved = await scene.chat(tenant.key);
    expect([moved.status, moved.headers.get("x-svc-provider")]).toEqual([200, "ovhcloud"]);
    both(script);
    const { status, body, text } = await scene.chat(tenant.key);
    expect([status, body.error.code]).toEqual([502, "upstream_error"]);
    expect(text).not.toMatch(/incorrect|insufficient|suspended|deployment|api key/i);
  });
});

describe("secrets in a provider's message", () => {
  const token = credentialOf("deepinfra");
  test.each([
    ["the operator's credential itself, whatever its form", `cannot use ${token} here`, token],
    ["a bearer header", `got Authorization: Bearer ${token}`, token],
    ["another key", "your key sk-proj-abcdef1234567890 is for another project", "sk-proj-abcdef1234567890"],
    ["a key of another vendor", "AIzaSyA1234567890abcdefghijk is not valid for this", "AIzaSyA1234567890abcdefghijk"],
    ["a query", "POST https://api.example/v1/chat?key=topsecret123&alt=sse failed", "topsecret123"],
    ["a query with another name", "GET https://api.example/v1?api_key=topsecret456 failed", "topsecret456"],
    ["an access token in a query", "GET https://api.example/v1?access_token=topsecret789 failed", "topsecret789"],
    ["an x-api-key header", 'request had x-api-key: "topsecret-abc"', "topsecret-abc"],
    ["a foreign bearer token", "got Authorization: Bearer topsecret-def", "topsecret-def"],
    ["a token of Google", "ya29.topsecret-ghi has expired", "ya29.topsecret-ghi"],
    ["an access key of AWS", "AKIATOPSECRET1234567 is not known", "AKIATOPSECRET1234567"],
  ])("ERR-06 ERR-09 %s is redacted from a message that is passed on", async (_, message, secret) => {
    scene.at("deepinfra").next({ status: 400, json: { error: { message: `Refused: ${message}` } } });
    const { status, text } = await scene.chat(tenant.key);
    expect(status).toBe(400);
    expect(text).toContain("Refused: ");
    expect(text).not.toContain(secret);
  });

  test("ERR-06 ordinary words stay unchanged", async () => {
    const message =
      "The token limit is 128000; ask-me-anything is no tool; sky-blue is no colour; key=value pairs are fine.";
    scene.at("deepinfra").next({ status: 400, json: { error: { message } } });
    expect((await scene.chat(tenant.key)).body.error.message).toBe(message);
  });
});

describe("a provider at its rate limit", () => {
  const PROVIDERS_NOW_MS = Date.UTC(2031, 4, 6, 7, 8, 9);
  const MONTH_SECONDS = 31 * 86_400;
  const limited = (headers: Record<string, string>): Script => ({
    status: 429,
    json: { error: { message: "slow down", type: "tokens" } },
    headers: { ...headers, "x-ratelimit-limit-requests": "10", "x-ratelimit-remaining": "0" },
  });
  /** By the provider's clock, which differs from the gateway's. */
  const inSeconds = (seconds: number) => ({
    date: new Date(PROVIDERS_NOW_MS).toUTCString(),
    "retry-after": new Date(PROVIDERS_NOW_MS + seconds * 1000).toUTCString(),
  });

  test.each([
    ["seconds", { "retry-after": "7" }, 7],
    ["zero seconds", { "retry-after": "0" }, 0],
    ["a date", inSeconds(30), 30],
    ["a date that has passed", inSeconds(-30), 0],
    ["a day and an hour", { "retry-after": "90000" }, 90_000],
    ["an absurd number", { "retry-after": "999999999" }, MONTH_SECONDS],
    ["a date in a hundred years", inSeconds(3_000_000_000), MONTH_SECONDS],
  ])("RATE-07 RATE-04 429 with no endpoint left is passed on as 429 with %s", async (_, headers, seconds) => {
    both(limited(headers));
    // An endpoint with a short wait is retried once when no other is left.
    if (seconds <= 2) scene.at("ovhcloud").next(limited(headers));
    const answer = await scene.chat(tenant.key);
    expect([answer.status, answer.body.error.type, answer.body.error.code]).toEqual([
      429,
      "rate_limit_error",
      "rate_limit_exceeded",
    ]);
    expect(answer.headers.get("retry-after")).toBe(String(seconds));
    // It was not the key's limit: its headers would be misleading.
    expect([...answer.headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
  });

  test.each(["garbage", "-5", "1.5e3", "7 apples", ""])(
    "RATE-07 ERR-15 a Retry-After of %j is not passed on: the caller gets the gateway's own",
    async (value) => {
      both(limited({ "retry-after": value }));
      const answer = await scene.chat(tenant.key);
      expect(answer.status).toBe(429);
      expect(answer.headers.get("retry-after")).toBe("5");
    },
  );

  test("RATE-07 with another endpoint left the caller does not see it", async () => {
    scene.at("deepinfra").next(limited({ "retry-after": "7" }));
    const { status, headers } = await scene.chat(tenant.key, { stream: true });
    expect([status, headers.get("retry-after")]).toEqual([200, null]);
    expect(headers.get("x-ratelimit-limit")).toBe("1000000");
    await drainQueue();
  });
});
