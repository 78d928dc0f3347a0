import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  chatWithLogprobs,
  type Decider,
  type DecisionScene,
  decisionBody,
  geminiWithLogprobs,
  JPEG,
  openDecisions,
  QUESTIONS,
  RED,
  SO_ANSWER,
  STATE,
} from "../support/decisions.ts";
import type { Json, Tenant } from "../support/gateway.ts";

let scene: DecisionScene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openDecisions();
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const ask = (provider: Decider, more: Record<string, unknown> = {}) =>
  scene.decide(tenant.key, decisionBody({ model: `lab/${provider}`, ...more }));
const sentTo = (provider: Decider, last = 1): Json[] => scene.at(provider).requests.slice(-last);

describe("members of a reply that callers do not receive", () => {
  const only = { questions: { lit: QUESTIONS.lit } };
  test.each([
    [
      "alpha",
      { answers: { lit: { type: "noul", noul: 0.9, note: "why" } }, usage: { input_tokens: 9, output_tokens: 1 } },
    ],
    [
      "beta",
      {
        answers: [{ type: "predicate", name: "lit", probability: 0.9, note: "why" }],
        usage: { input_tokens: 9, output_tokens: 1 },
      },
    ],
    [
      "gamma",
      {
        answers: { lit: { type: "yes_no", probabilities: { yes: 0.9, no: 0.1 }, label_mass: 1, note: "why" } },
        usage: { prompt_tokens: 9 },
      },
    ],
  ] as const)("PARAM-07 HDR-20 DEC-07 over %s they are named, without names of questions", async (provider, reply) => {
    scene.at(provider).next({ json: { ...reply, model: "up", id: "r", warnings: ["long"] } });
    const { status, headers, text } = await ask(provider, only);
    expect([status, text]).toEqual([200, text]);
    expect(headers.get("x-svc-omitted")?.split(",").toSorted()).toEqual(["answers[].note", "warnings"]);
    expect((await scene.row(headers.get("x-svc-request-id") ?? "")).omitted).toHaveLength(2);
    expect((await ask(provider, only)).headers.has("x-svc-omitted")).toBe(false);
  });
});

describe("the same questions in every interface", () => {
  test.each(["alpha", "beta", "gamma", "delta", "epsilon", "kappa"] as const)(
    "DEC-07 over %s the caller's shape stays the same",
    async (provider) => {
      const { status, body } = await ask(provider);
      expect(status).toBe(200);
      expect(Object.keys(body)).toEqual(["model", "answers", "usage"]);
      expect(body.model).toBe(`lab/${provider}`);
      const { lit, "room.name": room, bright_2: bright } = body.answers;
      expect(Object.keys(body.answers)).toEqual(Object.keys(QUESTIONS));
      expect(Object.keys(lit)).toEqual(["type", "noul"]);
      expect(lit.noul).toBeGreaterThan(0.9);
      expect(Object.keys(room)).toEqual(["type", "choice", "confidence"]);
      expect(room.choice).toBe("kitchen");
      expect(room.confidence).toBeGreaterThan(0.7);
      expect(Object.keys(bright).sort()).toEqual(["confidence", "legend", "probabilities", "score", "type"]);
      expect(bright.legend).toEqual({ "0": "dark", "1": "dim", "2": "bright" });
      const weighted = bright.probabilities["1"] + 2 * bright.probabilities["2"];
      expect(Math.abs(bright.score - weighted)).toBeLessThan(0.02);
    },
  );
});

describe("System One", () => {
  test("DEC-07 questions are sent by name to /systemone, without foreign fields", async () => {
    await ask("alpha");
    const [{ path, json, headers }] = sentTo("alpha");
    expect(path).toBe("/v1/systemone");
    expect(headers.authorization).toMatch(/^Bearer operator-canary-alpha/);
    expect(json).toEqual({ model: "up/alpha-1", state: STATE, questions: QUESTIONS });
  });

  test("DEC-05 images are items after the state, by type", async () => {
    const named = JPEG.replace("image/jpeg", "image/png");
    await ask("alpha", { images: [RED, named], state: { a: 1 } });
    const [{ json }] = sentTo("alpha");
    const part = (url: string) => ({ type: "image_url", image_url: { url } });
    expect(json.state).toEqual([{ a: 1 }, part(RED), part(JPEG)]);
  });

  test("DEC-07 a path with the model in it, an envelope, images in a separate field", async () => {
    expect((await ask("kappa", { images: [RED] })).status).toBe(200);
    const [{ path, json }] = sentTo("kappa");
    expect(path).toBe("/v1/run/up/kappa-1");
    expect(json).toEqual({ model: "kappa-1", state: STATE, questions: QUESTIONS, images: [RED] });
  });

  test("DEC-06 an envelope that reports a failure is an invalid response, with any content", async () => {
    scene.at("kappa").next({ json: { result: SO_ANSWER, success: false, errors: [{ code: 1, message: "no" }] } });
    expect((await ask("kappa")).body.error.code).toBe("upstream_invalid_answer");
  });

  test.each([{ truncated: true }, { truncated_questions: ["lit"] }, { state_tokens_dropped: 300 }])(
    "DEC-06 a server that reports truncation is rejected: %j",
    async (usage) => {
      scene.at("alpha").next({ json: { ...SO_ANSWER, usage: { ...SO_ANSWER.usage, ...usage } } });
      expect((await ask("alpha")).body.error.code).toBe("upstream_invalid_answer");
    },
  );

  test("DEC-07 where confidence means another quantity, it is computed for a choice and passed on for a score", async () => {
    const diagnostics = Object.fromEntries(
      Object.keys(QUESTIONS).map((key) => [key, { label_mass: 0.98, argmax_is_label: true }]),
    );
    scene.at("alpha").next({ json: { ...SO_ANSWER, object: "structured_decision", diagnostics } });
    const { body } = await ask("alpha");
    expect(body.answers["room.name"].confidence).toBeCloseTo((0.94 - 1 / 3) / (1 - 1 / 3), 9);
    expect(body.answers.bright_2).toEqual(SO_ANSWER.answers.bright_2);
    const lowMass = { ...diagnostics, lit: { label_mass: 0.3, argmax_is_label: true } };
    scene.at("alpha").next({ json: { ...SO_ANSWER, object: "structured_decision", diagnostics: lowMass } });
    expect((await ask("alpha")).status).toBe(502);
  });

  test.each([
    [400, { detail: "Too many choices" }, "Too many choices"],
    [400, { detail: { error_type: "max_tokens_exceeded" } }, "exceed the model's context length"],
    [
      422,
      { detail: [{ loc: ["questions"], msg: "Field required", input: "the caller's own words" }] },
      "Field required",
    ],
  ])("ERR-06 an upstream %i is passed on as provider_error and never as a refusal", async (status, json, says) => {
    scene.at("alpha").next({ status, json });
    const before = await scene.balance(tenant);
    const answer = await ask("alpha");
    expect([answer.status, answer.body.error.code]).toEqual([status, "provider_error"]);
    expect(answer.body.error.message).toContain(says);
    expect(answer.text).not.toContain("own words");
    expect(await scene.balance(tenant)).toBe(before);
  });

  test("a daily quota of the operator's account is not a rate limit", async () => {
    scene.at("kappa").next({ status: 429, json: { success: false, errors: [{ code: 4006, message: "daily free" }] } });
    const answer = await ask("kappa");
    expect([answer.status, answer.body.error.code]).toEqual([502, "upstream_error"]);
  });
});

describe("OpenAI's Decisions", () => {
  test("DEC-07 questions are a list with names, options are choices, levels have indices; confidence is kept", async () => {
    const { body } = await ask("beta");
    expect([body.answers["room.name"].confidence, body.answers.bright_2.confidence]).toEqual([0.79, 0.25]);
    const [{ path, json }] = sentTo("beta");
    expect(path).toBe("/v1/decisions");
    expect(json).toEqual({
      model: "up/beta-1",
      input: STATE,
      questions: [
        { type: "predicate", name: "lit", instructions: QUESTIONS.lit.instructions },
        {
          type: "choice",
          name: "room.name",
          instructions: QUESTIONS["room.name"].instructions,
          choices: [
            { value: "kitchen", description: "where one cooks" },
            { value: "cellar", description: "below the house" },
            { value: "attic" },
          ],
        },
        {
          type: "score",
          name: "bright_2",
          instructions: QUESTIONS.bright_2.instructions,
          levels: [
            { label: "0", description: "dark" },
            { label: "1", description: "dim" },
            { label: "2", description: "bright" },
          ],
        },
      ],
    });
  });

  test("DEC-07 an object is a separate part, with images after it; deep nesting is sent as text", async () => {
    await ask("beta", { state: { a: [1] }, images: [RED] });
    expect(sentTo("beta")[0].json.input).toEqual([
      {
        role: "user",
        content: [
          { type: "input_json", data: { a: [1] } },
          { type: "input_image", image_url: RED },
        ],
      },
    ]);
    let deep: Record<string, unknown> = { end: true };
    for (let depth = 0; depth < 40; depth += 1) deep = { deep };
    await ask("beta", { state: deep });
    const [part] = sentTo("beta")[0].json.input[0].content;
    expect(part).toEqual({ type: "input_text", text: JSON.stringify(deep) });
  });
});

describe("SGLang's", () => {
  test("DEC-07 questions have ids, options names, images URLs; missing confidence is computed", async () => {
    const { body } = await ask("gamma", { images: [RED] });
    const [{ path, json }] = sentTo("gamma");
    expect(path).toBe("/v1/decisions");
    expect(json.input).toBe(STATE);
    expect(json.images).toEqual([{ url: RED }]);
    expect(json.questions).toEqual([
      { id: "lit", type: "yes_no", question: QUESTIONS.lit.instructions },
      {
        id: "room.name",
        type: "choice",
        question: QUESTIONS["room.name"].instructions,
        options: [
          { name: "kitchen", description: "where one cooks" },
          { name: "cellar", description: "below the house" },
          { name: "attic" },
        ],
      },
      { id: "bright_2", type: "score", question: QUESTIONS.bright_2.instructions, levels: ["dark", "dim", "bright"] },
    ]);
    expect(body.answers["room.name"].confidence).toBeCloseTo((0.9 - 1 / 3) / (1 - 1 / 3), 9);
    expect(body.usage).toMatchObject({ input_tokens: 140, output_tokens: 0 });
  });

  test("DEC-04 names that differ only by case cannot be expressed", async () => {
    const questions = { q: { type: "choice", instructions: "Which?", criteria: { Yes: null, yes: null } } };
    const answer = await ask("gamma", { questions });
    expect([answer.status, answer.body.error.param]).toEqual([400, "questions.q.criteria"]);
  });
});

describe("log-probabilities over chat", () => {
  test("DEC-07 one request per question: one token, no reasoning, twenty alternatives, the state first", async () => {
    const { body } = await ask("delta", { images: [RED] });
    const sent = sentTo("delta", 3);
    expect(sent.map(({ path }) => path)).toEqual([
      "/v1/chat/completions",
      "/v1/chat/completions",
      "/v1/chat/completions",
    ]);
    for (const { json } of sent) {
      expect(json).toMatchObject({
        model: "up/delta-1",
        max_tokens: 1,
        temperature: 1,
        logprobs: true,
        top_logprobs: 20,
        reasoning_effort: "none",
      });
      const parts = json.messages.at(-1).content;
      expect(parts[0].text).toBe(`State:\n${STATE}`);
      expect(parts[1].image_url.url).toBe(RED);
    }
    const asking = sent.map(({ json }) => json.messages.at(-1).content.at(-1).text);
    expect(asking.find((text) => text.includes("yes or no"))).toContain(QUESTIONS.lit.instructions);
    expect(asking.find((text) => text.includes("letter"))).toContain("A: kitchen - where one cooks\nB: cellar - below");
    expect(asking.find((text) => text.includes("number"))).toContain("0: dark\n1: dim\n2: bright");
    expect(body.answers.lit.noul).toBeCloseTo(0.96 / 0.99, 9);
    expect(body.usage).toMatchObject({ input_tokens: 150, output_tokens: 3 });
  });

  test("BILL-05 long-context prices apply per request, not to their sum", async () => {
    const { body } = await ask("delta", {});
    expect(body.usage).toMatchObject({ input_tokens: 150, output_tokens: 3 });
    expect(body.usage.cost).toBeCloseTo(150 * 400e-6 + 3 * 1000e-6, 9);
  });

  test("DEC-10 cached input costs the catalogue's cache price, in one request and in several", async () => {
    const { lit } = QUESTIONS;
    const usage = { prompt_tokens: 50, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 30 } };
    for (const _ of ["lit", "still"])
      scene.at("delta").next({ json: chatWithLogprobs({ Yes: 0.9, No: 0.09 }, { usage }) });
    const several = await ask("delta", { questions: { lit, still: lit } });
    expect(several.body.usage.cost).toBeCloseTo(2 * (20 * 400e-6 + 30 * 40e-6 + 1000e-6), 9);
    const answers = [{ type: "predicate", name: "lit", probability: 0.9 }];
    const read = { input_tokens: 130, output_tokens: 0, input_tokens_details: { cached_tokens: 100 } };
    scene.at("beta").next({ json: { answers, usage: read } });
    expect((await ask("beta", { questions: { lit } })).body.usage.cost).toBeCloseTo(30 * 200e-6 + 100 * 20e-6, 9);
  });

  test("DEC-07 over Gemini the same request in its own format", async () => {
    const { body } = await ask("epsilon");
    const [{ path, json, headers }] = sentTo("epsilon");
    expect(path).toBe("/v1/models/up%2Fepsilon-1:generateContent");
    expect(headers["x-goog-api-key"]).toMatch(/^operator-canary-epsilon/);
    expect(json.generationConfig).toEqual({
      maxOutputTokens: 1,
      temperature: 1,
      thinkingConfig: { thinkingBudget: 0 },
      responseLogprobs: true,
      logprobs: 20,
    });
    expect(body.answers["room.name"].choice).toBe("kitchen");
    expect(body.usage).toMatchObject({ input_tokens: 180, output_tokens: 3 });
  });

  test.each<[keyof typeof QUESTIONS, Json]>([
    ["room.name", chatWithLogprobs({ The: 0.7, A: 0.2, B: 0.05, C: 0.01 })],
    ["bright_2", chatWithLogprobs({ The: 0.7, "2": 0.2, "1": 0.05, "0": 0.01 })],
  ])("DEC-06 labels of %s with hardly any probability are an invalid response too", async (key, json) => {
    scene.at("delta").next({ json });
    expect((await ask("delta", { questions: { [key]: QUESTIONS[key] } })).status).toBe(502);
  });

  const lit = { questions: { lit: QUESTIONS.lit } };
  test.each<[string, Json]>([
    ["the labels have hardly any probability", chatWithLogprobs({ The: 0.7, Yes: 0.2, No: 0.05 })],
    ["no label is among them", chatWithLogprobs({ The: 0.7, It: 0.2 })],
    ["a possibly likely label is missing", chatWithLogprobs({ Yes: 0.6, The: 0.3 })],
    [
      "there are none",
      {
        ...chatWithLogprobs({ Yes: 1 }),
        choices: [{ index: 0, message: { role: "assistant", content: "Yes" }, logprobs: null, finish_reason: "stop" }],
      },
    ],
    ["they are not log-probabilities", chatWithLogprobs({ Yes: 3, No: 2 })],
    ["usage is missing", chatWithLogprobs({ Yes: 0.9, No: 0.09 }, { usage: undefined })],
  ])("DEC-06 it is an invalid response when %s", async (_name, json) => {
    scene.at("delta").next({ json });
    const answer = await ask("delta", lit);
    expect([answer.status, answer.body.error.code]).toEqual([502, "upstream_invalid_answer"]);
  });

  test("DEC-07 a label that is missing and cannot be likely counts as zero", async () => {
    scene.at("delta").next({ json: chatWithLogprobs({ Yes: 0.9995, The: 0.0001 }) });
    expect((await ask("delta", lit)).body.answers.lit.noul).toBe(1);
  });

  test("DEC-07 alternatives by name, as older servers send them, are accepted", async () => {
    const json = chatWithLogprobs({ Yes: 0.9 });
    json.choices[0].logprobs = {
      tokens: ["Yes"],
      token_logprobs: [-0.1],
      top_logprobs: [{ Yes: Math.log(0.75), No: Math.log(0.25) }],
    };
    scene.at("delta").next({ json });
    expect((await ask("delta", lit)).body.answers.lit.noul).toBeCloseTo(0.75, 9);
  });

  test("DEC-04 more options than alternatives are refused before any provider is called", async () => {
    const criteria = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`option ${at}`, null]));
    const answer = await ask("delta", { questions: { q: { type: "choice", instructions: "Which?", criteria } } });
    expect([answer.status, answer.body.error.param]).toEqual([400, "questions.q.criteria"]);
  });

  test("DEC-06 one failed question ends the others, and nothing is charged", async () => {
    const before = await scene.balance(tenant);
    scene.at("delta").next({ status: 500 });
    const answer = await ask("delta");
    expect(answer.status).toBe(502);
    expect(await scene.balance(tenant)).toBe(before);
  });
});

describe("a provider that declines", () => {
  const declined = async (provider: Decider, more: Record<string, unknown> = {}) => {
    const mine = await scene.gateway.tenant();
    const before = await scene.balance(mine);
    const answer = await scene.decide(mine.key, decisionBody({ model: `lab/${provider}`, ...more }));
    expect([answer.status, answer.body.error.code]).toEqual([422, "decision_refused"]);
    const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
    expect([row.status, row.error_code]).toEqual([422, "decision_refused"]);
    return { error: answer.body.error, charged: Number((before - (await scene.balance(mine))).toFixed(9)), row, mine };
  };

  test("DEC-08 OpenAI's refusal: 422, the question is named, the input is billed as reported", async () => {
    scene.at("beta").next({
      json: {
        answers: [
          { type: "predicate", name: "lit", probability: 0.9 },
          { type: "refusal", name: "room.name" },
          { type: "refusal", name: "bright_2" },
        ],
        usage: { input_tokens: 130, output_tokens: 0 },
      },
    });
    const { error, charged } = await declined("beta");
    expect(error.message).toContain('"room.name", "bright_2"');
    expect(error.message).not.toContain('"lit"');
    expect(charged).toBeCloseTo(130 * 200e-6, 9);
  });

  test("DEC-08 a single question is the param as well", async () => {
    scene
      .at("alpha")
      .next({ json: { answers: { lit: { type: "refusal" } }, usage: { input_tokens: 10, output_tokens: 0 } } });
    const { error, charged } = await declined("alpha", { questions: { lit: QUESTIONS.lit } });
    expect(error.param).toBe("questions.lit");
    expect(charged).toBeCloseTo(0.001, 9);
  });

  test("DEC-08 BILL-02 only the input is charged: no output and no request price, in wallet, log and ledger", async () => {
    const usage = { input_tokens: 100, output_tokens: 40 };
    scene.at("kappa").next({ json: { success: true, result: { answers: { lit: { type: "refusal" } }, usage } } });
    const { charged, row, mine } = await declined("kappa", { questions: { lit: QUESTIONS.lit } });
    const { data: entries } = await scene.gateway.manage("GET", `/workspaces/${mine.slug}/wallet/entries?kind=charge`);
    expect(entries.map(({ amount }: { amount: string }) => amount)).toEqual(["-0.06"]);
    expect(charged).toBeCloseTo(100 * 600e-6, 9);
    expect(Number(row.cost)).toBeCloseTo(100 * 600e-6, 9);
    expect([row.usage.input_tokens, row.usage.output_tokens]).toEqual([100, 40]);
    expect(row.charge.price).toEqual({ currency: "EUR", input_per_1m_tokens: "600" });
  });

  test("DEC-08 over chat: a refusal as text, or a filtered reply", async () => {
    const refusal = chatWithLogprobs({ Yes: 1 });
    refusal.choices[0] = {
      index: 0,
      message: { role: "assistant", content: null, refusal: "No." },
      logprobs: null,
      finish_reason: "stop",
    };
    scene.at("delta").next({ json: refusal });
    const { charged } = await declined("delta", { questions: { lit: QUESTIONS.lit } });
    expect(charged).toBeCloseTo(50 * 400e-6, 9);
    const filtered = geminiWithLogprobs({ Yes: 1 });
    filtered.candidates[0] = { finishReason: "SAFETY", index: 0 };
    scene.at("epsilon").next({ json: filtered });
    await declined("epsilon", { questions: { lit: QUESTIONS.lit } });
  });

  test("DEC-08 a refusal as an error without usage is reported and free", async () => {
    scene
      .at("alpha")
      .next({ status: 403, json: { error: { code: 403, message: "refused", metadata: { error_type: "refusal" } } } });
    const { error, charged } = await declined("alpha");
    expect(error.message).toContain('"lit"');
    expect(charged).toBe(0);
  });

  test("DEC-08 a refusal together with an inconsistent reply is an invalid response", async () => {
    scene.at("beta").next({
      json: {
        answers: [
          { type: "refusal", name: "lit" },
          { type: "predicate", name: "room.name", probability: 0.4 },
        ],
        usage: { input_tokens: 1, output_tokens: 0 },
      },
    });
    expect((await ask("beta")).body.error.code).toBe("upstream_invalid_answer");
  });
});
