import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EmbeddingScene, openaiList, openEmbeddings, vectorOf } from "../support/embeddings.ts";
import type { Json } from "../support/gateway.ts";
import type { Script } from "../support/upstream.ts";

let scene: EmbeddingScene;
beforeAll(async () => {
  scene = await openEmbeddings(
    {
      first: { facts: { interface: "openai" }, price: 0.1, contextTokens: 100 },
      second: { facts: { interface: "mistral" }, price: 0.2, contextTokens: 200 },
    },
    { dimensions: 4 },
  );
  for (const slug of ["first", "second"]) scene.at(slug).always(openaiList());
});
afterAll(() => scene.close());

const many = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

describe("invalid requests", () => {
  const WRONG: readonly (readonly [string, unknown, string, RegExp])[] = [
    ["no input", undefined, "input", /required/],
    ["null", null, "input", /required/],
    ["a number", 7, "input", /must be a string, an array of strings/],
    ["an object", { text: "a" }, "input", /must be a string, an array of strings/],
    ["an empty text", "", "input", /must not be empty/],
    ["an empty list", [], "input", /must not be empty/],
    ["an empty text among others", ["a", ""], "input.1", /must not be empty/],
    ["an empty list of numbers", [[1], []], "input.1", /must not be empty/],
    ["texts and numbers mixed", ["a", 1], "input.1", /must be a string/],
    ["numbers and texts mixed", [1, "a"], "input.1", /must be a token id/],
    ["lists and numbers mixed", [[1], 1], "input.1", /must be an array of token ids/],
    ["lists and texts mixed", [[1], "a"], "input.1", /must be an array of token ids/],
    ["half a token", [[1, 1.5]], "input.0.1", /must be a token id/],
    ["a negative token id", [-1], "input.0", /must be a token id/],
    ["a null in a list", ["a", null], "input.1", /must be a string/],
    ["a list of empty lists", [null], "input", /must be a string, an array of strings/],
    ["too many texts", many(2049, "a"), "input", /at most 2048 items, but has 2049/],
    ["too many lists", many(2049, [1]), "input", /at most 2048 items/],
    ["a number that is not a token id", [9906, 100_256], "input", /100256 is not one/],
    ["a token id out of range", [[9906], [9_999_999]], "input.1", /9999999 is not one/],
  ];

  test.each(WRONG)("EMB-01 %s", async (_name, input, param, message) => {
    const before = scene.at("first").requests.length;
    const { status, body } = await scene.embed({ input });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: "invalid_value", param, message: expect.stringMatching(message) });
    expect(scene.at("first").requests).toHaveLength(before);
  });

  test("EMB-01 the maximum input is answered, also after invalid token ids", async () => {
    expect((await scene.embed({ input: many(2048, "a") })).body.data).toHaveLength(2048);
    const { body } = await scene.embed({ input: [15339, 1917], provider: { only: ["second"] } });
    expect(body.data[0].embedding).toEqual(vectorOf("hello world"));
  });

  test.each([
    [{ encoding_format: "int8" }, "invalid_value", "encoding_format"],
    [{ dimensions: 0 }, "invalid_value", "dimensions"],
    [{ dimensions: 1.5 }, "invalid_value", "dimensions"],
    [{ dimensions: "4" }, "invalid_value", "dimensions"],
    [{ dimensions: 3 }, "unsupported_parameter", "dimensions"],
    [{ user: 7 }, "invalid_value", "user"],
    [{ stream: true }, "unsupported_parameter", "stream"],
    [{ input_type: "query" }, "unsupported_parameter", "input_type"],
    [{ model: "auto" }, "router_not_supported", "model"],
    [{ model: "@team/router" }, "router_not_supported", "model"],
    [{ model: "" }, "invalid_value", "model"],
  ])("EMB-01 ERR-11 %j", async (field, code, param) => {
    const { status, body } = await scene.embed({ input: "a", ...field });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code, param });
  });

  test("EMB-01 PARAM-04 an explicit null is the same as absent", async () => {
    const none = { encoding_format: null, dimensions: null, user: null, provider: null };
    expect((await scene.embed({ input: "a", ...none })).body.data[0].embedding).toEqual(vectorOf("a"));
  });

  test("ERR-11 an unknown model, and one without embeddings", async () => {
    expect(await scene.embed({ input: "a", model: "lab/none" })).toMatchObject({
      status: 404,
      body: { error: { code: "model_not_found" } },
    });
  });

  test("SCOPE-01 a key without the scope", async () => {
    const { gateway } = scene;
    const other = await gateway.tenant({ key: { scopes: ["inference:chat"] } });
    const { status } = await gateway.call(other.key, "/v1/embeddings", { body: { model: "lab/vectors", input: "a" } });
    expect(status).toBe(403);
  });

  test("EMB-01 a text far above an endpoint's context is not sent to it, and refused if no endpoint takes it", async () => {
    // About 375 tokens: more than twice a hundred, less than twice two hundred.
    const longer = await scene.embed({ input: ["a", "b".repeat(1500)] });
    expect(longer.headers.get("x-svc-provider")).toBe("second");
    const longest = await scene.embed({ input: ["a", "b".repeat(15_000)] });
    expect(longest).toMatchObject({
      status: 400,
      body: {
        error: {
          code: "context_length_exceeded",
          param: "input.1",
          message: expect.stringMatching(/at most 100|at most 200/),
        },
      },
    });
  });
});

describe("invalid replies", () => {
  const row = (embedding: unknown, index = 0) => ({ object: "embedding", index, embedding });
  const list = (...data: unknown[]): Script => ({ json: { object: "list", data, usage: { prompt_tokens: 2 } } });
  const good = vectorOf("a");
  const BAD: readonly (readonly [string, Script])[] = [
    ["no JSON", { body: "<html>", headers: { "content-type": "text/html" } }],
    ["no list", { json: { object: "list" } }],
    ["a vector too few", list(row(good))],
    ["a vector too many", list(row(good), row(good, 1), row(good, 2))],
    ["the same index twice", list(row(good), row(good))],
    ["an index out of range", list(row(good), row(good, 2))],
    ["an empty vector", list(row(good), row([], 1))],
    ["words for numbers", list(row(good), row(["1", "2", "3", "4"], 1))],
    ["a hole", list(row(good), row([1, null, 3, 4], 1))],
    ["a number that no 32-bit float holds", list(row(good), row([1e300, 0, 0, 0], 1))],
    ["bytes that are not floats", list(row(good), row("AAAA", 1))],
    ["bytes that are not a number", list(row("AADAfwAAAAAAAAAAAAAAAA=="), row(good, 1))],
    ["no base64", list(row(good), row("***", 1))],
    ["vectors of different dimensions", list(row(good), row([1, 2], 1))],
    ["another dimension than requested", list(row([1, 2]), row([1, 2], 1))],
    ["too much", { status: 500, json: { error: { message: "no" } } }],
  ];

  test.each(BAD)("EMB-01 %s: the next endpoint is called, and only it is paid", async (_name, script) => {
    scene.at("first").next(script);
    const answer = await scene.embed({ input: ["a", "b"], dimensions: 4 });
    expect(answer.headers.get("x-svc-provider")).toBe("second");
    expect(answer.body.data.map(({ embedding }: Json) => embedding)).toEqual([vectorOf("a"), vectorOf("b")]);
    expect(answer.body.usage).toMatchObject({ prompt_tokens: 20, cost: 0.000004 });
  });

  test("EMB-01 no endpoint gives a valid reply: no charge, and an error that says so", async () => {
    for (const slug of ["first", "second"]) scene.at(slug).next(list(row(good)));
    const before = await scene.gateway.manage("GET", `/workspaces/${scene.tenant.slug}/wallet`);
    const { status, body } = await scene.embed({ input: ["a", "b"] });
    expect(status).toBe(502);
    expect(body.error.code).toBe("upstream_error");
    expect(await scene.gateway.manage("GET", `/workspaces/${scene.tenant.slug}/wallet`)).toEqual(before);
  });

  test("EMB-01 a provider's refusal is passed on to the caller", async () => {
    const error = { message: "This model's maximum context length is 100 tokens", type: "invalid_request_error" };
    scene.at("first").next({ status: 400, json: { error } });
    const { status, body } = await scene.embed({ input: "a", provider: { only: ["first"] } });
    expect(status).toBe(400);
    expect(body.error.message).toMatch(/maximum context length/);
  });

  test.each([null, { prompt_tokens: 0, total_tokens: 0 }, { prompt_tokens: -5 }, { prompt_tokens: 9_000_000 }])(
    "EMB-01 invalid usage %j is ignored: the gateway's estimate is billed and marked as estimated",
    async (usage) => {
      scene.at("first").next(openaiList(undefined, usage));
      const answer = await scene.embed({ input: ["abcdefgh", "ab"] });
      expect(answer.body.usage).toMatchObject({ prompt_tokens: 3, total_tokens: 3 });
      expect(await scene.rowOf(answer)).toMatchObject({ usage: { estimated: true, input_tokens: 3 } });
    },
  );
});

test("EMB-01 a repeated idempotency key is not charged again and reports the first outcome", async () => {
  const once = { "idempotency-key": "embedding-1" };
  const before = scene.at("first").requests.length;
  const first = await scene.embed({ input: "a" }, once);
  const again = await scene.embed({ input: "a" }, once);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(again.body).toMatchObject({ object: "idempotent_replay", id: first.headers.get("x-svc-request-id") });
  expect(again.body.data).toBeUndefined();
  expect(scene.at("first").requests).toHaveLength(before + 1);
});

test("EMB-01 the log has usage and counts, and no content", async () => {
  const answer = await scene.embed({ input: ["a secret canary", "b"], user: "canary-user" });
  const row = JSON.stringify(await scene.rowOf(answer));
  expect(row).not.toContain("canary");
});
