import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DecisionScene, openDecisions, RED, STATE } from "../support/decisions.ts";
import type { Json, Tenant } from "../support/gateway.ts";

let scene: DecisionScene;
let tenant: Tenant;
let client: OpenAI;
beforeAll(async () => {
  scene = await openDecisions();
  tenant = await scene.gateway.tenant();
  client = new OpenAI({ apiKey: tenant.key, baseURL: `${scene.gateway.url}/openai/v1`, maxRetries: 0 });
});
afterAll(() => scene.close());

const questions: OpenAI.DecisionCreateParams["questions"] = [
  { type: "predicate", name: "lit", instructions: "Is the light in the kitchen on?" },
  {
    type: "choice",
    name: "room.name",
    instructions: "Which room is it about?",
    choices: [{ value: "kitchen", description: "where one cooks" }, { value: "cellar" }, { value: "attic" }],
  },
  {
    type: "score",
    name: "bright_2",
    instructions: "How bright is it?",
    levels: [{ label: "dark" }, { label: "dim", description: "a little" }, { label: "bright" }],
  },
];
const sent = (provider: "alpha" | "beta" | "delta"): Json => scene.at(provider).requests.at(-1)?.json;

describe("the official SDK", () => {
  test.each(["alpha", "beta", "gamma", "delta", "epsilon"])(
    "DEC-15 decisions.create works over %s, with answers in the order of the questions",
    async (provider) => {
      const decision = await client.decisions.create({ model: `lab/${provider}`, input: STATE, questions });
      expect(decision.model).toBe(`lab/${provider}`);
      const [lit, room, bright] = decision.answers;
      expect(lit).toMatchObject({ type: "predicate", name: "lit", probability: expect.closeTo(0.97, 1) });
      expect(room).toMatchObject({ type: "choice", name: "room.name", choice: "kitchen" });
      if (room?.type === "choice")
        expect(room.probabilities.map(({ value }) => value)).toEqual(["kitchen", "cellar", "attic"]);
      expect(bright).toMatchObject({ type: "score", name: "bright_2", score: expect.closeTo(1.5, 0) });
      if (bright?.type === "score") {
        expect(bright.probabilities.map(({ value, label }) => [value, label])).toEqual([
          [0, "dark"],
          [1, "dim"],
          [2, "bright"],
        ]);
        expect(bright.probabilities.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 6);
        expect(bright.confidence).toEqual(expect.any(Number));
      }
      const { usage } = decision;
      expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
      expect(usage).toMatchObject({ cost: expect.any(Number), currency: "EUR" });
    },
  );

  test("DEC-15 levels with descriptions, boolean choices, and questions without names", async () => {
    scene.at("alpha").next({
      json: {
        answers: {
          q1: { type: "noul", noul: 0.25 },
          q2: { type: "choice", choice: "false", probabilities: { true: 0.2, false: 0.8 }, confidence: 0.6 },
        },
        usage: { input_tokens: 9, output_tokens: 0 },
      },
    });
    const decision = await client.decisions.create({
      model: "lab/alpha",
      input: STATE,
      questions: [
        {
          type: "predicate",
          instructions: [
            { type: "input_text", text: "Is it?" },
            { type: "input_json", data: { a: 1 } },
          ],
        },
        { type: "choice", instructions: "Which?", choices: [{ value: true }, { value: false }] },
      ],
    });
    expect(decision.answers).toEqual([
      { type: "predicate", name: null, probability: 0.25 },
      {
        type: "choice",
        name: null,
        choice: false,
        confidence: 0.6,
        probabilities: [
          { value: true, probability: 0.2 },
          { value: false, probability: 0.8 },
        ],
      },
    ]);
    expect(sent("alpha").questions.q1.instructions).toBe('Is it?\n\n{"a":1}');
    await client.decisions.create({ model: "lab/alpha", input: STATE, questions });
    expect(sent("alpha").questions).toMatchObject({
      "room.name": { criteria: { kitchen: "where one cooks", cellar: null, attic: null } },
      bright_2: { criteria: ["dark", "dim: a little", "bright"] },
    });
  });

  test("DEC-15 input of one message, with images and data; and a whole conversation", async () => {
    const ask = (input: OpenAI.DecisionCreateParams["input"]) =>
      client.decisions.create({ model: "lab/beta", input, questions: questions.slice(0, 1) });
    await ask([
      {
        role: "user",
        content: [
          { type: "input_text", text: "Look." },
          { type: "input_image", image_url: RED },
        ],
      },
    ]);
    expect(sent("beta").input[0].content).toEqual([
      { type: "input_text", text: "Look." },
      { type: "input_image", image_url: RED },
    ]);
    await ask([{ role: "user", content: [{ type: "input_json", data: { a: 1 } }] }]);
    expect(sent("beta").input[0].content).toEqual([{ type: "input_json", data: { a: 1 } }]);
    await ask([
      { role: "system", content: "Be kind." },
      { role: "user", content: "Is it on?" },
      { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "on" },
      { role: "assistant", content: [{ type: "output_text", text: "It is." }] },
    ]);
    expect(sent("beta").input[0].content[0].data.input).toEqual([
      { role: "system", content: "Be kind." },
      { role: "user", content: "Is it on?" },
      { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "on" },
      { role: "assistant", content: "It is." },
    ]);
  });

  test("DEC-15 a declined question is an answer of that shape, and the other questions are answered", async () => {
    scene.at("beta").next({
      json: {
        answers: [
          { type: "refusal", name: "room.name" },
          { type: "predicate", name: "lit", probability: 0.9 },
        ],
        usage: { input_tokens: 20, output_tokens: 0 },
      },
    });
    const decision = await client.decisions.create({
      model: "lab/beta",
      input: STATE,
      questions: questions.slice(0, 2),
    });
    expect(decision.answers).toEqual([
      { type: "predicate", name: "lit", probability: 0.9 },
      { type: "refusal", name: "room.name" },
    ]);
  });

  test("DEC-15 fields without effect at any provider are accepted and dropped; others are refused by name", async () => {
    await client.decisions.create({
      model: "lab/alpha",
      input: STATE,
      questions: questions.slice(0, 1),
      safety_identifier: "user-1",
      prompt_cache_key: "k",
    });
    expect(Object.keys(sent("alpha"))).toEqual(["model", "state", "questions"]);
    const body = { model: "lab/alpha", input: STATE, questions: questions.slice(0, 1) };
    const call = (more: object) =>
      scene.gateway.call(tenant.key, "/openai/v1/decisions", { body: { ...body, ...more } });
    const refused = await call({ temperature: 0 });
    expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([
      400,
      "unsupported_parameter",
      "temperature",
    ]);
    const twice = await call({ questions: [questions[0], questions[0]] });
    expect([twice.status, twice.body.error.param]).toEqual([400, "questions.1.name"]);
    const remote = await call({
      input: [{ role: "user", content: [{ type: "input_image", image_url: "https://a.example/x.png" }] }],
    });
    expect([remote.status, remote.body.error.param]).toEqual([400, "input.0.content.0.image_url"]);
    const unnamed = await call({ input: [{ type: "function_call", call_id: "c", arguments: "{}" }] });
    expect([unnamed.status, unnamed.body.error.param]).toEqual([400, "input.0.name"]);
    const pictures = (count: number) =>
      call({ input: [{ role: "user", content: Array(count).fill({ type: "input_image", image_url: RED }) }] });
    expect((await pictures(4)).status).toBe(200);
    const crowd = await pictures(5);
    expect([crowd.status, crowd.body.error.param]).toEqual([400, "input"]);
    expect((await call({ model: "auto" })).body.error.code).toBe("router_not_supported");
  });

  test("DEC-15 the SDK raises its own errors, and the specified path never uses this shape", async () => {
    const failing = client.decisions.create({ model: "lab/unknown", input: STATE, questions });
    await expect(failing).rejects.toMatchObject({ status: 404, code: "model_not_found" });
    await expect(failing).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    const answer = await scene.decide(tenant.key, { model: "lab/alpha", input: STATE, questions });
    expect([answer.status, answer.body.error.param]).toEqual([400, "input"]);
  });
});
