import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startGateway } from "../support/gateway.ts";
import {
  badWords,
  decisionHost,
  judgeHost,
  type ModerationScene,
  openModerations,
  yesTo,
} from "../support/moderations.ts";
import { loadExchange, scriptOf } from "../support/replay.ts";
import { credentialOf } from "../support/scene.ts";
import type { Script } from "../support/upstream.ts";

const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const CATEGORIES = { violence: "Is it violent?", spam: "Is it advertising?" };

let scene: ModerationScene;
beforeAll(async () => {
  scene = await openModerations({
    openai: judgeHost({ interface: "openai", images_max: 1 }, { price: { input_per_1m_tokens: 1 } }),
    mistral: judgeHost({ interface: "mistral", inputs_max: 3 }, { price: { input_per_1m_tokens: 10 } }),
    decider: decisionHost(
      "system_one",
      { categories: CATEGORIES, inputs_max: 2 },
      {
        price: { input_per_1m_tokens: 100 },
      },
    ),
  });
});
afterAll(() => scene.close());

const only = (slug: string) => ({ provider: { only: [slug] } });
const image = (url: string) => ({ type: "image_url", image_url: { url } });

describe("recorded traffic, or samples of the same form", () => {
  test("MODR-01 a text: the same request, and the verdict with every category as it was", async () => {
    const [recorded] = loadExchange("surfaces/moderations/openai-text").interactions;
    if (recorded === undefined) throw new Error("no recording");
    scene.at("openai").next(scriptOf(recorded));
    const { input }: Json = JSON.parse(recorded.request.body.toString());
    const answer = await scene.judge({ input, ...only("openai") });
    expect([answer.status, scene.at("openai").requests.at(-1)?.json]).toEqual([200, { model: "lab-1", input }]);
    const { results }: Json = JSON.parse(recorded.response.body.toString());
    expect(answer.body.results).toEqual(results);
    expect(answer.headers.has("x-svc-omitted")).toBe(false);
  });

  test("MODR-01 a text with an image: one result for both, and what each category was judged by", async () => {
    const [recorded] = loadExchange("surfaces/moderations/openai-text-image").interactions;
    if (recorded === undefined) throw new Error("no recording");
    scene.at("openai").next(scriptOf(recorded));
    const input = [{ type: "text", text: "check this image and caption" }, image(PIXEL)];
    const answer = await scene.judge({ input });
    expect([answer.status, answer.headers.get("x-svc-provider")]).toEqual([200, "openai"]);
    expect(scene.at("openai").requests.at(-1)?.json).toEqual({ model: "lab-1", input });
    expect(answer.body.results).toHaveLength(1);
    expect(answer.body.results[0].category_applied_input_types.violence).toEqual(["text", "image"]);
    expect((await scene.rowOf(answer)).detail).toMatchObject({ inputs: 1, images: 1, results: 1 });
  });
});

describe("every interface", () => {
  test("MODR-01 Mistral's own categories are kept, and its missing flag follows from them", async () => {
    scene.at("mistral").next(badWords("mistral", { prompt_tokens: 12, total_tokens: 12, completion_tokens: 0 }));
    const answer = await scene.judge({ input: ["good", "bad"], ...only("mistral") });
    expect(scene.at("mistral").requests.at(-1)?.json).toEqual({ model: "lab-1", input: ["good", "bad"] });
    expect(scene.at("mistral").requests.at(-1)?.path).toBe("/v1/moderations");
    expect(scene.at("mistral").requests.at(-1)?.headers["authorization"]).toBe(`Bearer ${credentialOf("mistral")}`);
    const applied = { violence: ["text"], hate: ["text"] };
    expect(answer.body).toEqual({
      id: answer.headers.get("x-svc-request-id"),
      model: "lab/judge",
      results: [
        {
          flagged: false,
          categories: { violence: false, hate: false },
          category_scores: { violence: 0.1, hate: 0.01 },
          category_applied_input_types: applied,
        },
        {
          flagged: true,
          categories: { violence: true, hate: false },
          category_scores: { violence: 0.9, hate: 0.01 },
          category_applied_input_types: applied,
        },
      ],
      usage: { prompt_tokens: 12, total_tokens: 12, cost: 0.00012, currency: "EUR" },
    });
  });

  test("MODR-01 parts that are texts alone are one input for a provider of texts", async () => {
    scene.at("mistral").next(badWords("mistral"));
    const parts = ["one", "two"].map((text) => ({ type: "text", text }));
    const answer = await scene.judge({ input: parts, ...only("mistral") });
    expect(scene.at("mistral").requests.at(-1)?.json).toMatchObject({ input: ["one\ntwo"] });
    expect(answer.body.results).toHaveLength(1);
  });

  test("MODR-01 BILL-01 a decision model gets one question per category and text, and all of them are billed", async () => {
    const before = scene.at("decider").requests.length;
    scene.at("decider").next(yesTo({ violence: 0.03, spam: 0.5 }));
    scene.at("decider").next(yesTo({ violence: 0.03, spam: 0.5 }));
    const answer = await scene.judge({ input: ["Buy now", "Buy here"], ...only("decider") });
    expect(answer.status, answer.text).toBe(200);
    const sent = scene
      .at("decider")
      .requests.slice(before)
      .map(({ json }) => json as Json);
    expect(sent.map(({ state }) => state).toSorted()).toEqual(["Buy here", "Buy now"]);
    expect(sent[0]?.questions).toEqual({
      violence: { type: "noul", instructions: CATEGORIES.violence },
      spam: { type: "noul", instructions: CATEGORIES.spam },
    });
    expect(answer.body.results).toEqual(
      [0, 1].map(() => ({
        flagged: true,
        categories: { violence: false, spam: true },
        category_scores: { violence: 0.03, spam: 0.5 },
        category_applied_input_types: { violence: ["text"], spam: ["text"] },
      })),
    );
    expect(answer.body.usage).toEqual({ prompt_tokens: 40, total_tokens: 40, cost: 0.004, currency: "EUR" });
  });
});

describe("invalid requests", () => {
  const REFUSED: readonly (readonly [string, Json, string])[] = [
    ["no input", {}, "input"],
    ["a number", { input: 7 }, "input"],
    ["an empty text", { input: "" }, "input"],
    ["an empty list", { input: [] }, "input"],
    ["an empty text in a list", { input: ["a", ""] }, "input.1"],
    ["a list of both forms", { input: ["a", { type: "text", text: "b" }] }, "input.1"],
    ["parts with a string", { input: [{ type: "text", text: "b" }, "a"] }, "input.1"],
    ["another part", { input: [{ type: "audio", audio: "x" }] }, "input.0.type"],
    [
      "a part with a field that nothing reads",
      { input: [{ type: "text", text: "b", image_url: "x" }] },
      "input.0.image_url",
    ],
    ["an image by address", { input: [image("https://example.org/a.png")] }, "input.0.image_url.url"],
    ["an image that is none", { input: [image("data:image/png;base64,AAAA")] }, "input.0.image_url.url"],
    ["two images for one that takes one", { input: [image(PIXEL), image(PIXEL)] }, "input"],
    ["too many texts", { input: Array.from({ length: 1025 }, () => "a") }, "input"],
    ["an unknown field", { input: "a", metadata: {} }, "metadata"],
  ];
  test.each(REFUSED)("MODR-01 PARAM-02 %s: 400 with the field's name", async (_, body, param) => {
    const { status, body: answer } = await scene.judge(body);
    expect([status, answer.error.param]).toEqual([400, param]);
  });

  test("MODR-01 an image is never judged by its text alone: providers of texts are no candidates", async () => {
    const input = [{ type: "text", text: "a" }, image(PIXEL)];
    for (const slug of ["mistral", "decider"]) {
      const before = scene.at(slug).requests.length;
      const { status } = await scene.judge({ input, ...only(slug) });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(scene.at(slug).requests.length).toBe(before);
    }
  });

  test("MODR-01 routers are refused", async () => {
    expect((await scene.judge({ input: "a", model: "auto" })).body.error.code).toBe("router_not_supported");
  });
});

describe("replies that are no verdict", () => {
  const results = (...list: readonly unknown[]): Script => ({ json: { id: "m", results: list } });
  const fine = { flagged: false, categories: { a: false }, category_scores: { a: 0 } };
  const BROKEN: readonly (readonly [string, Script])[] = [
    ["no results", results()],
    ["a result too many", results(fine, fine)],
    ["no categories", results({ flagged: false, categories: {}, category_scores: {} })],
    ["a category without a score", results({ ...fine, category_scores: {} })],
    ["a score for no category", results({ ...fine, category_scores: { a: 0, b: 0 } })],
    ["a verdict that is text", results({ ...fine, categories: { a: "false" } })],
    ["a score that is text", results({ ...fine, category_scores: { a: "0" } })],
    ["no category that was judged", results({ flagged: false, categories: { a: null }, category_scores: { a: null } })],
    ["a flag that is text", results({ ...fine, flagged: "no" })],
    ["inputs that do not exist", results({ ...fine, category_applied_input_types: { a: ["smell"] } })],
    ["text", { body: "busy" }],
    ["an error", { status: 500, json: { message: "down" } }],
  ];
  test.each(BROKEN)("MODR-01 ROUTE-04 %s: the next endpoint judges, never an empty verdict", async (_, script) => {
    scene.at("openai").next(script);
    scene.at("mistral").next(badWords("mistral", { prompt_tokens: 3 }));
    const answer = await scene.judge({ input: "bad", provider: { only: ["openai", "mistral"] } });
    expect([answer.status, answer.headers.get("x-svc-provider")]).toEqual([200, "mistral"]);
    expect(answer.body.results[0].flagged).toBe(true);
    expect(answer.body.usage).toMatchObject({ prompt_tokens: 3, cost: 0.00003 });
  });

  test("MODR-01 a category that applies flags the input, whatever the provider's flag says", async () => {
    scene
      .at("openai")
      .next(results({ flagged: false, categories: { a: true, b: null }, category_scores: { a: 1, b: null } }));
    const { body } = await scene.judge({ input: "a", ...only("openai") });
    expect(body.results[0]).toMatchObject({ flagged: true, categories: { a: true, b: null } });
  });

  test("MODR-01 a decision model that refuses to judge is an error, and its input is billed", async () => {
    scene.at("decider").next(({ json }) => {
      const { questions }: Json = json;
      const answers = Object.keys(questions).map((name) => [name, { type: "refusal" }]);
      return { json: { answers: Object.fromEntries(answers), usage: { input_tokens: 20, output_tokens: 2 } } };
    });
    const { status, body, headers } = await scene.judge({ input: "a", ...only("decider") });
    expect([status, body.error.code, body.error.results]).toEqual([422, "decision_refused", undefined]);
    const row = await scene.gateway.manage("GET", `/requests/${headers.get("x-svc-request-id")}`);
    expect(row.usage).toMatchObject({ input_tokens: 20 });
  });
});

describe("money and policy", () => {
  test("MODR-01 BILL-04 tokens that a provider does not report, or that cannot be, are estimated", async () => {
    for (const usage of [undefined, { prompt_tokens: 1e9 }, { prompt_tokens: 1.5 }]) {
      scene.at("mistral").next(badWords("mistral", usage));
      const answer = await scene.judge({ input: "a few words of text", ...only("mistral") });
      expect(answer.body.usage).not.toHaveProperty("prompt_tokens");
      const { usage: logged } = await scene.rowOf(answer);
      expect(logged).toMatchObject({ estimated: true, output_tokens: 0 });
      expect(logged.input_tokens).toBeGreaterThan(2);
      expect(logged.input_tokens).toBeLessThan(20);
    }
  });

  test("MODR-01 SCOPE-01 a key needs inference:moderations", async () => {
    const key = async (scope: string) => (await scene.gateway.tenant({ key: { scopes: [scope] } })).key;
    scene.at("openai").next(badWords("openai"));
    expect((await scene.judge({ input: "a" }, await key("inference:moderations"))).status).toBe(200);
    expect((await scene.judge({ input: "a" }, await key("inference:chat"))).body.error.code).toBe("insufficient_scope");
  });

  test("MODR-01 LOG-01 CLASS-03 the log has neither text nor verdict, and a rule that replaces texts excludes endpoints", async () => {
    const tenant = await scene.gateway.tenant();
    scene.at("openai").next(badWords("openai"));
    const answer = await scene.judge({ input: "a bad canary" }, tenant.key);
    const row = await scene.rowOf(answer);
    expect(row).toMatchObject({ surface: "moderations", status: 200, model: "lab/judge", provider: "openai" });
    expect(JSON.stringify(row)).not.toMatch(/canary|flagged|violence/);
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, {
      data_classes: { personal: { below: "L4", action: "pseudonymise" } },
    });
    const refused = await scene.judge({ input: ["Write to erika.mustermann@example.org please"] }, tenant.key);
    expect([refused.status, refused.body.error.code]).toEqual([403, "sovereignty_floor_not_met"]);
  });

  test("MODR-01 without a model the key's first model serves; without any, the field is named", async () => {
    const tenant = await scene.gateway.tenant();
    scene.at("openai").next(badWords("openai"));
    const send = () => scene.gateway.call(tenant.key, "/v1/moderations", { body: { input: "a" } });
    expect((await send()).body.model).toBe("lab/judge");
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { floor: "L4" });
    const { status, body } = await send();
    expect([status, body.error.param]).toEqual([400, "model"]);
  });

  test("MODR-01 a disabled surface responds with moderations_not_enabled and is in no list", async () => {
    const off = await startGateway({ env: { GATEWAY_MODERATIONS: "off" } });
    try {
      const refused = await off.call(off.key, "/v1/moderations", { body: { input: "a" } });
      expect([refused.status, refused.body.error.code]).toEqual([404, "moderations_not_enabled"]);
      const { data } = (await off.call(off.key, "/v1/models")).body;
      expect(data.some(({ svc_surfaces: surfaces }: Json) => surfaces.includes("moderations"))).toBe(false);
    } finally {
      await off.close();
    }
  });
});
