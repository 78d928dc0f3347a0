import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DecisionScene, decisionBody, JPEG, openDecisions, QUESTIONS, RED, STATE } from "../support/decisions.ts";
import type { Json, Tenant } from "../support/gateway.ts";

let scene: DecisionScene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openDecisions();
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const refusedBefore = async (body: unknown, status: number, code: string, param?: string): Promise<Json> => {
  const before = scene.at("alpha").requests.length;
  const answer = await scene.decide(tenant.key, body);
  expect([answer.status, answer.body.error.code, answer.body.error.param]).toEqual([status, code, param]);
  expect(answer.body.error.request_id).toBe(answer.headers.get("x-svc-request-id"));
  expect(scene.at("alpha").requests.length).toBe(before);
  return answer.body.error;
};
const noul = { type: "noul", instructions: "Is it?" };
const withQuestion = (question: unknown) => decisionBody({ questions: { q: question } });

describe("the model", () => {
  test.each(["auto", "@team-1/fast"])(
    "DEC-01 %s is refused: models cannot be chosen by a router here",
    async (model) => {
      await refusedBefore(decisionBody({ model }), 400, "router_not_supported", "model");
    },
  );

  test.each([
    ["lab/unknown", "is not there"],
    ["lab/chat", "does not decide, though its provider has models that do"],
    ["lab/unpriced", "has no price"],
  ])("DEC-01 %s %s: 404 model_not_found", async (model) => {
    await refusedBefore(decisionBody({ model }), 404, "model_not_found", "model");
  });

  test("DEC-01 none of the model's providers has the interface: 501, before 404", async () => {
    const error = await refusedBefore(decisionBody({ model: "lab/plain" }), 501, "decisions_not_supported", "model");
    expect(error.message).toContain("zeta");
  });

  test("DEC-01 ERR-10 an invalid field is reported before a router, a router before an unknown model", async () => {
    await refusedBefore(decisionBody({ model: "auto", state: 7 }), 400, "invalid_value", "state");
    await refusedBefore(
      decisionBody({ model: "auto", stream: true, state: 7 }),
      400,
      "unsupported_parameter",
      "stream",
    );
  });

  test("DEC-01 ERR-10 without decisions: 404 decisions_not_enabled, none listed, checked after key and scope", async () => {
    const off = await openDecisions({ GATEWAY_DECISIONS: "off" });
    try {
      const mine = await off.gateway.tenant({ key: { rpm: 1 } });
      const narrow = await off.gateway.tenant({ key: { scopes: ["inference:chat"] } });
      for (const path of ["/v1/decisions", "/openai/v1/decisions"]) {
        const answer = await off.gateway.call(mine.key, path, { body: "no JSON at all" });
        expect([answer.status, answer.body.error.code]).toEqual([404, "decisions_not_enabled"]);
        const scoped = await off.gateway.call(narrow.key, path, { body: decisionBody() });
        expect([scoped.status, scoped.body.error.code]).toEqual([403, "insufficient_scope"]);
        expect((await off.gateway.call("", path, { body: decisionBody() })).status).toBe(401);
      }
      expect((await off.gateway.call(mine.key, "/v1/models/lab/judge")).status).toBe(429);
      expect((await off.gateway.call(off.gateway.key, "/v1/models/lab/judge")).status).toBe(404);
    } finally {
      await off.close();
    }
  });
});

describe("the fields", () => {
  test.each([
    ["stream", { stream: true }],
    ["temperature", { temperature: 0 }],
    ["provider", { provider: { only: ["alpha"] } }],
    ["constructor", { constructor: 1 }],
  ])("DEC-03 unlisted field %s is refused by name", async (param, more) => {
    await refusedBefore(decisionBody(more), 400, "unsupported_parameter", param);
  });

  test("DEC-03 a question field that its type does not take is refused by name", async () => {
    const criteria = { true: "it is", false: "it is not" };
    await refusedBefore(withQuestion({ ...noul, criteria }), 400, "unsupported_parameter", "questions.q.criteria");
    await refusedBefore(
      withQuestion({ ...noul, criteria: null }),
      400,
      "unsupported_parameter",
      "questions.q.criteria",
    );
    await refusedBefore(withQuestion({ ...noul, weight: 2 }), 400, "unsupported_parameter", "questions.q.weight");
    await refusedBefore(withQuestion({ ...noul, weight: null }), 400, "unsupported_parameter", "questions.q.weight");
  });

  test("DEC-03 a null field is absent", async () => {
    const answer = await scene.decide(tenant.key, decisionBody({ images: null }));
    expect(answer.status).toBe(200);
  });

  const choice = { type: "choice", instructions: "Which?", criteria: { a: "x", b: "y" } };
  const score = { type: "score", instructions: "How much?", criteria: ["low", "high"] };
  const options = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`o${at}`, null]));
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`q${at}`, noul]));

  test.each<[string, unknown, string]>([
    ["no model", { ...decisionBody(), model: undefined }, "model"],
    ["no state", { ...decisionBody(), state: undefined }, "state"],
    ["a list as state", decisionBody({ state: ["a"] }), "state"],
    ["a number as state", decisionBody({ state: 3 }), "state"],
    ["an empty state", decisionBody({ state: "" }), "state"],
    ["no questions", { ...decisionBody(), questions: undefined }, "questions"],
    ["a list of questions", decisionBody({ questions: [noul] }), "questions"],
    ["not one question", decisionBody({ questions: {} }), "questions"],
    ["33 questions", decisionBody({ questions: many }), "questions"],
    ["a name with a space", decisionBody({ questions: { "a b": noul } }), "questions.a b"],
    ["an empty name", decisionBody({ questions: { "": noul } }), "questions."],
    ["a question that is a text", withQuestion("Is it?"), "questions.q"],
    ["an unknown type", withQuestion({ ...noul, type: "box" }), "questions.q.type"],
    ["no type", withQuestion({ instructions: "Is it?" }), "questions.q.type"],
    ["no instructions", withQuestion({ type: "noul" }), "questions.q.instructions"],
    ["blank instructions", withQuestion({ type: "noul", instructions: "  " }), "questions.q.instructions"],
    ["instructions that are not text", withQuestion({ ...noul, instructions: ["a"] }), "questions.q.instructions"],
    ["a choice without criteria", withQuestion({ ...choice, criteria: undefined }), "questions.q.criteria"],
    ["a choice with null criteria", withQuestion({ ...choice, criteria: null }), "questions.q.criteria"],
    ["a choice of one", withQuestion({ ...choice, criteria: { a: "x" } }), "questions.q.criteria"],
    ["a choice out of a list", withQuestion({ ...choice, criteria: ["a", "b"] }), "questions.q.criteria"],
    ["an option that is a number", withQuestion({ ...choice, criteria: { a: 1, b: "y" } }), "questions.q.criteria.a"],
    ["an option without a name", withQuestion({ ...choice, criteria: { " ": "x", b: "y" } }), "questions.q.criteria. "],
    [
      "more options than any endpoint takes",
      withQuestion({ ...choice, criteria: options(1001) }),
      "questions.q.criteria",
    ],
    [
      "more levels than any endpoint takes",
      withQuestion({ ...score, criteria: Object.keys(options(1001)) }),
      "questions.q.criteria",
    ],
    ["a score without criteria", withQuestion({ ...score, criteria: undefined }), "questions.q.criteria"],
    ["a score of one level", withQuestion({ ...score, criteria: ["low"] }), "questions.q.criteria"],
    ["a score out of an object", withQuestion({ ...score, criteria: { a: "x", b: "y" } }), "questions.q.criteria"],
  ])("DEC-04 DEC-13 %s: invalid_value names it", async (_name, body, param) => {
    await refusedBefore(body, 400, "invalid_value", param);
  });

  test("DEC-04 the refusal names what an option lacks, and the maximum number", async () => {
    const blank = withQuestion({ ...choice, criteria: { " ": "x", b: "y" } });
    const nameless = await refusedBefore(blank, 400, "invalid_value", "questions.q.criteria. ");
    expect(nameless.message).toContain("must not have an empty option name");
    const crowd = withQuestion({ ...choice, criteria: options(1001) });
    const refused = await refusedBefore(crowd, 400, "invalid_value", "questions.q.criteria");
    expect(refused.message).toContain("must have at most 1000 options");
  });

  test("ERR-10 DEC-03 an unsupported field is named before one with too many entries", async () => {
    const options1001 = { ...choice, criteria: options(1001) };
    const weighed = { ...many, q: { ...noul, weight: 2 } };
    const crowd = { ...noul, criteria: options(1001) };
    await refusedBefore(decisionBody({ questions: many, stream: true }), 400, "unsupported_parameter", "stream");
    await refusedBefore({ ...withQuestion(options1001), stream: true }, 400, "unsupported_parameter", "stream");
    await refusedBefore(decisionBody({ questions: weighed }), 400, "unsupported_parameter", "questions.q.weight");
    await refusedBefore(withQuestion(crowd), 400, "unsupported_parameter", "questions.q.criteria");
  });

  test("DEC-04 DEC-13 32 questions with names of every character are answered under them", async () => {
    const names = Array.from({ length: 31 }, (_, at) => `Az9_.-${at}`);
    const questions = Object.fromEntries([...names, "constructor"].map((name) => [name, noul]));
    scene.at("alpha").next(({ json }: { json: Json }) => ({
      json: {
        answers: Object.fromEntries(Object.keys(json.questions).map((key) => [key, { type: "noul", noul: 0.5 }])),
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    }));
    const answer = await scene.decide(tenant.key, decisionBody({ questions }));
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body.answers).sort()).toEqual(Object.keys(questions).sort());
  });

  test("DEC-04 a request above every endpoint's limits is refused by field, before any provider is called", async () => {
    const criteria = Array.from({ length: 11 }, (_, level) => `level ${level}`);
    const body = decisionBody({ questions: { q: { type: "score", instructions: "How?", criteria } } });
    const error = await refusedBefore(body, 400, "invalid_value", "questions.q.criteria");
    expect(error.message).toContain("10 levels");
    const four = Object.fromEntries(["a", "b", "c", "d"].map((key) => [key, noul]));
    await refusedBefore(decisionBody({ model: "lab/kappa", questions: four }), 400, "invalid_value", "questions");
    await refusedBefore(decisionBody({ state: "word ".repeat(20_000) }), 400, "context_length_exceeded", "state");
    const long = decisionBody({ model: "lab/kappa", state: "x".repeat(21_000) });
    await refusedBefore(long, 400, "invalid_value", "state");
  });
});

describe("images", () => {
  test.each<[string, unknown, string]>([
    ["an address", ["https://example.com/a.png"], "images.0"],
    ["no data URL", [RED, "iVBORw0KGgo="], "images.1"],
    ["a GIF", ["data:image/gif;base64,R0lGODlhAQABAAAAACw="], "images.0"],
    ["a GIF by another name", ["data:image/png;base64,R0lGODlhAQABAAAAACw="], "images.0"],
    ["text declared as an image", ["data:image/png;base64,aGVsbG8="], "images.0"],
    ["invalid base64", ["data:image/png;base64,%%%"], "images.0"],
    ["five of them", [RED, RED, RED, RED, RED], "images"],
    ["one that is not text", [{ url: RED }], "images.0"],
  ])("DEC-05 %s is refused", async (_name, images, param) => {
    await refusedBefore(decisionBody({ images }), 400, "invalid_value", param);
  });

  test("DEC-05 MOD-02 a model whose endpoints take none: 400 image_input_not_supported, as in the model object", async () => {
    const before = scene.at("epsilon").requests.length;
    const answer = await scene.decide(tenant.key, decisionBody({ model: "lab/epsilon", images: [RED] }));
    const { code, param } = answer.body.error;
    expect([answer.status, code, param]).toEqual([400, "image_input_not_supported", "images"]);
    expect(scene.at("epsilon").requests.length).toBe(before);
    const model = async (name: string) => (await scene.gateway.call(tenant.key, `/v1/models/lab/${name}`)).body;
    expect((await model("epsilon")).svc_decision_images).toBe(false);
    expect((await model("judge")).svc_decision_images).toBe(true);
    expect((await model("chat")).svc_decision_images).toBeUndefined();
    expect((await model("judge")).svc_surfaces).toEqual(["decisions"]);
  });

  test("DEC-05 if some endpoint takes images, its missing capability is reported instead", async () => {
    const model = "lab/mixed";
    const criteria = Array.from({ length: 11 }, (_, level) => `level ${level}`);
    const questions = { q: { type: "score", instructions: "How much?", criteria } };
    const error = await refusedBefore(
      decisionBody({ model, images: [RED], questions }),
      400,
      "invalid_value",
      "questions.q.criteria",
    );
    expect(error.message).toContain("supports at most 10 levels");
    const answer = await scene.decide(tenant.key, decisionBody({ model, images: [RED] }));
    expect([answer.status, answer.headers.get("x-svc-provider")]).toEqual([200, "beta"]);
  });

  test("DEC-05 with images only endpoints that take them are called", async () => {
    for (const provider of ["alpha", "beta", "gamma", "delta"] as const) scene.at(provider).next({ status: 500 });
    const before = scene.at("epsilon").requests.length;
    const answer = await scene.decide(
      tenant.key,
      decisionBody({ model: "lab/judge", images: [RED, JPEG], questions: { lit: QUESTIONS.lit } }),
    );
    expect(answer.status).toBe(502);
    expect(scene.at("epsilon").requests.length).toBe(before);
  });

  test("DEC-05 more than a server's limit is refused before any provider is called", async () => {
    await refusedBefore(decisionBody({ model: "lab/kappa", images: [RED, RED, JPEG] }), 400, "invalid_value", "images");
  });
});

describe("the response", () => {
  test("DEC-13 the body is exactly model, answers and usage, and every answer exactly its fields", async () => {
    const answer = await scene.decide(tenant.key, decisionBody());
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body)).toEqual(["model", "answers", "usage"]);
    expect(answer.body.model).toBe("lab/alpha");
    expect(answer.body.answers.lit).toEqual({ type: "noul", noul: 0.97 });
    expect(answer.body.answers["room.name"]).toEqual({ type: "choice", choice: "kitchen", confidence: 0.91 });
    expect(Object.keys(answer.body.answers)).toEqual(["lit", "room.name", "bright_2"]);
  });

  test.each([
    ["all of them", { legend: { "0": "dark", "1": { as: "dim" }, "2": "bright" }, confidence: 0.31 }],
    ["no others", {}],
    ["null too", { legend: null, confidence: null }],
    ["unknown ones", { low_confidence: true, range: [1, 2] }],
  ])("DEC-12 a score passes the provider's fields through unchanged: %s", async (_which, more) => {
    const sent = { type: "score", score: 1.55, probabilities: { "0": 0.1, "1": 0.25, "2": 0.65 }, ...more };
    scene.at("alpha").next({ json: { answers: { bright_2: sent }, usage: { input_tokens: 9, output_tokens: 2 } } });
    const answer = await scene.decide(tenant.key, decisionBody({ questions: { bright_2: QUESTIONS.bright_2 } }));
    expect(answer.body.answers.bright_2).toEqual(sent);
  });

  test("DEC-14 the headers are those of the last rule and no other of the service's", async () => {
    const answer = await scene.decide(tenant.key, decisionBody());
    const own = [...answer.headers.keys()].filter(
      (name) => name.startsWith("x-svc-") || name.startsWith("x-ratelimit-"),
    );
    expect(own.sort()).toEqual([
      "x-ratelimit-limit",
      "x-ratelimit-remaining",
      "x-ratelimit-reset",
      "x-svc-compute-countries",
      "x-svc-model",
      "x-svc-provider",
      "x-svc-request-id",
      "x-svc-sovereignty-level",
    ]);
    expect(answer.headers.get("x-svc-request-id")).toMatch(/^dec_/);
    expect(answer.headers.get("x-svc-provider")).toBe("alpha");
    expect(answer.headers.get("x-svc-compute-countries")).toBe("US");
    expect(answer.headers.get("x-svc-sovereignty-level")).toBe("L0");
  });

  test("a base URL without the version, or with it twice, works", async () => {
    for (const path of ["/decisions", "/v1/v1/decisions"])
      expect((await scene.gateway.call(tenant.key, path, { body: decisionBody() })).status).toBe(200);
  });
});

describe("policy", () => {
  test("DEC-09 a policy that excludes the model's country refuses with its code and reason", async () => {
    const strict = await scene.gateway.tenant();
    await scene.gateway.manage("PATCH", `/workspaces/${strict.slug}/policy`, { countries: ["FR"] });
    const answer = await scene.decide(strict.key, decisionBody());
    expect([answer.status, answer.body.error.code]).toEqual([403, "compute_country_not_allowed"]);
    expect(answer.body.error.message).toContain("alpha:one:lab/alpha");
    const other = await scene.decide(strict.key, decisionBody({ model: "lab/judge" }));
    expect([other.status, other.headers.get("x-svc-provider")]).toEqual([200, "delta"]);
  });

  test.each([
    [{ floor: "L2" }, "sovereignty_floor_not_met"],
    [{ zero_data_retention: true }, "zero_data_retention_required"],
    [{ no_training: true }, "no_training_required"],
    [{ blocked_providers: ["alpha"] }, "provider_blocked"],
    [{ allowed_models: ["lab/beta"] }, "model_not_permitted"],
  ])("DEC-09 %j: 403 %s, as on chat", async (policy, code) => {
    const strict = await scene.gateway.tenant();
    await scene.gateway.manage("PATCH", `/workspaces/${strict.slug}/policy`, policy);
    const before = scene.at("alpha").requests.length;
    const answer = await scene.decide(strict.key, decisionBody());
    expect([answer.status, answer.body.error.code]).toEqual([403, code]);
    expect(scene.at("alpha").requests.length).toBe(before);
  });

  test("SCOPE-01 a key needs inference:decisions, on both paths", async () => {
    const chat = await scene.gateway.tenant({ key: { scopes: ["inference:chat"] } });
    const decides = await scene.gateway.tenant({ key: { scopes: ["inference:decisions"] } });
    expect((await scene.decide(chat.key, decisionBody())).body.error.code).toBe("insufficient_scope");
    expect((await scene.decide(decides.key, decisionBody())).status).toBe(200);
  });
});

describe("money", () => {
  test("DEC-10 input is charged at catalogue price, output if it is priced, and usage shows it", async () => {
    const mine = await scene.gateway.tenant();
    const before = await scene.balance(mine);
    const answer = await scene.decide(mine.key, decisionBody());
    // 120 tokens at 100 per million; the 57 output tokens have no price.
    expect(answer.body.usage).toEqual({ input_tokens: 120, output_tokens: 57, cost: 0.012, currency: "EUR" });
    expect(before - (await scene.balance(mine))).toBeCloseTo(0.012, 9);
  });

  test("DEC-10 a price per request is charged once, and an output price if the server counts output", async () => {
    const answer = await scene.decide(tenant.key, decisionBody({ model: "lab/gamma" }));
    expect(answer.body.usage.cost).toBeCloseTo(140 * 300e-6 + 0.5, 9);
    const lit = { type: "yes_no", probabilities: { yes: 0.9, no: 0.1 }, label_mass: 1 };
    scene.at("gamma").next({ json: { answers: { lit }, usage: { prompt_tokens: 140, completion_tokens: 5 } } });
    const written = await scene.decide(
      tenant.key,
      decisionBody({ model: "lab/gamma", questions: { lit: QUESTIONS.lit } }),
    );
    expect(written.body.usage.cost).toBeCloseTo(140 * 300e-6 + 5 * 600e-6 + 0.5, 9);
  });

  test("DEC-10 a provider's own cost is never shown", async () => {
    scene.at("alpha").next({
      json: { answers: { lit: { type: "noul", noul: 0.5 } }, usage: { input_tokens: 10, output_tokens: 0, cost: 42 } },
    });
    const answer = await scene.decide(tenant.key, decisionBody({ questions: { lit: QUESTIONS.lit } }));
    expect(answer.body.usage.cost).toBe(0.001);
  });

  test("DEC-10 with the workspace's own provider key there is no cost, in the workspace's currency", async () => {
    const mine = await scene.gateway.tenant({ credit: "0", currency: "USD" });
    await scene.gateway.manage("PUT", `/workspaces/${mine.slug}/providers/alpha`, {
      key: "own-key-of-the-workspace",
      skip_test: true,
    });
    const answer = await scene.decide(mine.key, decisionBody());
    expect(answer.status).toBe(200);
    expect(answer.body.usage).toEqual({ input_tokens: 120, output_tokens: 57, currency: "USD" });
    expect(scene.at("alpha").requests.at(-1)?.headers.authorization).toBe("Bearer own-key-of-the-workspace");
  });

  test("BILL-08 a key for a provider of decisions only is verified with an empty request", async () => {
    const mine = await scene.gateway.tenant();
    const put = (key: string) =>
      scene.gateway.call(scene.gateway.adminToken, `/manage/workspaces/${mine.slug}/providers/kappa`, {
        method: "PUT",
        body: { key },
      });
    scene.at("kappa").next({ status: 401, json: { success: false, errors: [{ code: 10000, message: "no" }] } });
    expect((await put("own-key-that-is-wrong-1")).status).toBe(409);
    scene.at("kappa").next({ status: 400, json: { success: false, errors: [{ code: 5006, message: "questions" }] } });
    expect((await put("own-key-that-is-right-1")).status).toBeLessThan(300);
    expect(scene.at("kappa").requests.at(-1)).toMatchObject({ path: "/v1/run/up/kappa-1", json: {} });
  });

  test("DEC-10 a hold covers every transmission of the state: low credit is refused before any call", async () => {
    const state = "word ".repeat(1000);
    const questions = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`q${at}`, noul]));
    // Once it is about 1,250 tokens at 400 per million; twenty times it is about ten units.
    const mine = await scene.gateway.tenant({ credit: "5" });
    const before = scene.at("delta").requests.length;
    const answer = await scene.decide(mine.key, decisionBody({ model: "lab/delta", state, questions }));
    expect([answer.status, answer.body.error.code]).toEqual([402, "insufficient_credits"]);
    expect(scene.at("delta").requests.length).toBe(before);
    const one = await scene.decide(
      mine.key,
      decisionBody({ model: "lab/delta", state, questions: { lit: QUESTIONS.lit } }),
    );
    expect(one.status).toBe(200);
  });
});

describe("the log", () => {
  test("DEC-11 it has the number and the types of questions, and no content", async () => {
    const secret = { ...decisionBody(), state: { note: "canary-state-81" } };
    const answer = await scene.decide(tenant.key, secret);
    const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
    expect(row.surface).toBe("decisions");
    expect(row.detail).toEqual({ questions: 3, types: { noul: 1, choice: 1, score: 1 } });
    const text = JSON.stringify(row);
    for (const word of ["canary", "kitchen", "room.name", "Which room"]) expect(text).not.toContain(word);
    // Scores of the route are numbers between zero and one, too, and have more digits.
    expect(text).not.toMatch(/0\.97(?!\d)/);
  });

  test("DEC-11 a capture window stores the JSON of request and response", async () => {
    const mine = await scene.gateway.tenant();
    await scene.gateway.manage("POST", `/workspaces/${mine.slug}/capture-windows`, { minutes: 5 });
    const body = decisionBody();
    const answer = await scene.decide(mine.key, body);
    const id = answer.headers.get("x-svc-request-id") ?? "";
    const { captured } = await scene.gateway.manage("GET", `/requests/${id}`);
    expect(captured.request).toEqual(JSON.parse(JSON.stringify(body)));
    expect(captured.answer).toEqual(answer.body);
  });

  test("DEC-06 BILL-09 an Idempotency-Key works here: one charge, and the second call fails, because nothing is partial", async () => {
    const mine = await scene.gateway.tenant();
    const headers = { "idempotency-key": "decide-once" };
    const first = await scene.decide(mine.key, decisionBody(), headers);
    const before = scene.at("alpha").requests.length;
    const again = await scene.decide(mine.key, decisionBody(), headers);
    expect(first.status).toBe(200);
    expect([again.status, again.body.error.code]).toEqual([409, "idempotent_replay"]);
    expect(again.body.error.message).toContain(`GET /v1/requests/${first.headers.get("x-svc-request-id")}.`);
    const retryHeaders = ["x-should-retry", "idempotent-replayed"].map((name) => again.headers.get(name));
    expect(retryHeaders).toEqual(["false", "true"]);
    expect(scene.at("alpha").requests.length).toBe(before);
  });
});

describe("the state", () => {
  test("DEC-07 reaches the provider unchanged", async () => {
    const state = { b: 1, a: [true, null, "ü"], deep: { constructor: "x" } };
    await scene.decide(tenant.key, decisionBody({ state }));
    const sent: Json = scene.at("alpha").requests.at(-1)?.json;
    expect(sent.state).toEqual(state);
    expect(STATE).not.toBe(sent.state);
  });

  const NUMBERS = '{"iban":12345678901234567890,"price":1.10,"small":1e-400}';

  test.each(["alpha", "beta", "gamma", "delta", "epsilon"] as const)(
    "DEC-07 its numbers keep all digits on the way to %s",
    async (provider) => {
      const body = JSON.stringify(decisionBody({ model: `lab/${provider}`, state: "STATE" })).replace(
        '"STATE"',
        NUMBERS,
      );
      const answer = await scene.gateway.call(tenant.key, "/v1/decisions", { body });
      expect(answer.status).toBe(200);
      expect(scene.at(provider).requests.at(-1)?.raw.toString().replaceAll("\\", "")).toContain(NUMBERS);
    },
  );

  test("DEC-15 and in OpenAI's shape, in input and instructions", async () => {
    const part = `{"type":"input_json","data":${NUMBERS}}`;
    const questions = `[{"type":"predicate","name":"lit","instructions":[{"type":"input_text","text":"Is it?"},${part}]}]`;
    const body = `{"model":"lab/beta","input":[{"role":"user","content":[${part}]}],"questions":${questions}}`;
    const answer = await scene.gateway.call(tenant.key, "/openai/v1/decisions", { body });
    expect(answer.status).toBe(200);
    const sent = scene.at("beta").requests.at(-1)?.raw.toString().replaceAll("\\", "") ?? "";
    expect(sent.split(NUMBERS).length).toBe(3);
  });
});
