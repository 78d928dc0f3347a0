import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  chatWithLogprobs,
  type DecisionScene,
  decisionBody,
  geminiWithLogprobs,
  openDecisions,
  QUESTIONS,
  SO_ANSWER,
} from "../support/decisions.ts";
import type { Json, Tenant } from "../support/gateway.ts";

let scene: DecisionScene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openDecisions();
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const noul = { type: "noul", instructions: "Is it?" };
const lit = { lit: QUESTIONS.lit };
const YES = { Yes: 0.9, No: 0.09, The: 0.0001 };

describe("the request", () => {
  test("DEC-04 a duplicate name is refused: one of the two questions would go unanswered", async () => {
    const twice = (questions: string) => `{"model":"lab/alpha","state":"x","questions":${questions}}`;
    const one = JSON.stringify(noul);
    const bodies = [
      twice(`{"a":${one},"a":${one}}`),
      twice(`{"a":${one},"\\u0061":${one}}`),
      twice('{"a":{"type":"choice","instructions":"Which?","criteria":{"x":"1","y":"2","x":"3"}}}'),
      twice('{"a":{"type":"noul","instructions":"Is it?","instructions":"Is it not?"}}'),
    ];
    const before = scene.at("alpha").requests.length;
    for (const body of bodies) {
      const answer = await scene.decide(tenant.key, body);
      expect([answer.status, answer.body.error?.code]).toEqual([400, "invalid_json"]);
      expect(answer.body.error.message).toContain("twice");
    }
    expect(scene.at("alpha").requests.length).toBe(before);
  });

  test("ERR-10 a field that no type takes is named before a wrong or missing type", async () => {
    for (const type of ["box", undefined]) {
      const questions = { q: { type, instructions: "Is it?", weight: 2 } };
      const { body } = await scene.decide(tenant.key, decisionBody({ questions }));
      expect([body.error.code, body.error.param]).toEqual(["unsupported_parameter", "questions.q.weight"]);
    }
  });

  test("DEC-04 a name of any length is returned whole, and shortened in an error", async () => {
    const name = "k".repeat(20_000);
    scene.at("alpha").next(({ json }: { json: Json }) => {
      const [id = ""] = Object.keys(json.questions);
      return { json: { answers: { [id]: { type: "noul", noul: 0.5 } }, usage: { input_tokens: 9, output_tokens: 1 } } };
    });
    const fine = await scene.decide(tenant.key, decisionBody({ questions: { [name]: noul } }));
    expect(Object.keys(fine.body.answers)).toEqual([name]);
    const criteria = Array.from({ length: 11 }, (_, level) => `level ${level}`);
    const long = { [name]: { type: "score", instructions: "How?", criteria } };
    const { body } = await scene.decide(tenant.key, decisionBody({ questions: long }));
    expect(body.error.code).toBe("invalid_value");
    expect(JSON.stringify(body).length).toBeLessThan(2000);
  });

  test("DEC-05 truncated base64 is refused, missing padding is accepted", async () => {
    const png = Buffer.from("89504e470d0a1a0a0000000d49484452000000010000000108020000", "hex").toString("base64");
    expect(png.endsWith("=")).toBe(true);
    const send = (base64: string) =>
      scene.decide(tenant.key, decisionBody({ questions: lit, images: [`data:image/png;base64,${base64}`] }));
    expect((await send(`${png}=`)).body.error?.param).toBe("images.0");
    expect((await send(`${png.replace(/=+$/, "")}AA=`)).body.error?.param).toBe("images.0");
    expect((await send(png)).status).toBe(200);
  });
});

describe("reported usage", () => {
  const figures: readonly (readonly [string, Json])[] = [
    ["is nothing", { prompt_tokens: 0, completion_tokens: 0 }],
    ["is not there", undefined],
    ["is negative", { prompt_tokens: -5, completion_tokens: 1 }],
    ["is a fraction", { prompt_tokens: 50.5, completion_tokens: 1 }],
    ["is a text", { prompt_tokens: "50", completion_tokens: 1 }],
    [
      "is less than its cached part",
      { prompt_tokens: 50, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 5000 } },
    ],
    ["is far above the input", { prompt_tokens: 25_000, completion_tokens: 1 }],
    ["is above the model's context", { prompt_tokens: 9_000_000, completion_tokens: 1 }],
  ];

  test.each(figures)(
    "DEC-02 over chat: what %s is an invalid response, and nothing is charged",
    async (_name, usage) => {
      const mine = await scene.gateway.tenant();
      const before = await scene.balance(mine);
      scene.at("delta").next({ json: chatWithLogprobs(YES, { usage }) });
      const answer = await scene.decide(mine.key, decisionBody({ model: "lab/delta", questions: lit }));
      expect([answer.status, answer.body.error?.code]).toEqual([502, "upstream_invalid_answer"]);
      expect(await scene.balance(mine)).toBe(before);
    },
  );

  const named: readonly (readonly [string, Json])[] = [
    ["is far above the input", { input_tokens: 90_000, output_tokens: 0 }],
    ["is nothing", { input_tokens: 0, output_tokens: 0 }],
    ["is a fraction", { input_tokens: 9.5, output_tokens: 0 }],
    ["is a text", { input_tokens: "9", output_tokens: 0 }],
    [
      "is less than its cached part",
      { input_tokens: 9, output_tokens: 0, input_tokens_details: { cached_tokens: 10 } },
    ],
  ];
  test.each(named)(
    "DEC-02 over System One: what %s is an invalid response, and nothing is charged",
    async (_name, usage) => {
      const mine = await scene.gateway.tenant();
      const before = await scene.balance(mine);
      scene.at("alpha").next({ json: { ...SO_ANSWER, usage } });
      const answer = await scene.decide(mine.key, decisionBody());
      expect([answer.status, answer.body.error?.code]).toEqual([502, "upstream_invalid_answer"]);
      expect(await scene.balance(mine)).toBe(before);
    },
  );

  test.each<[string, Json]>([
    ["is not there", undefined],
    ["is nothing", { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 }],
    ["is negative", { promptTokenCount: -1, candidatesTokenCount: 1 }],
  ])("DEC-02 over Gemini: what %s is an invalid response", async (_name, usageMetadata) => {
    scene.at("epsilon").next({ json: geminiWithLogprobs(YES, { usageMetadata }) });
    const answer = await scene.decide(tenant.key, decisionBody({ model: "lab/epsilon", questions: lit }));
    expect([answer.status, answer.body.error?.code]).toEqual([502, "upstream_invalid_answer"]);
  });
});

describe("a declined question", () => {
  const refused = (usage: Json) => ({
    json: { answers: [{ type: "refusal", name: "lit" }], usage: { output_tokens: 0, ...usage } },
  });

  test("DEC-08 that the provider did not bill is free and still reported as declined", async () => {
    const mine = await scene.gateway.tenant();
    const before = await scene.balance(mine);
    scene.at("beta").next(refused({ input_tokens: 0 }));
    const answer = await scene.decide(mine.key, decisionBody({ model: "lab/beta", questions: lit }));
    expect([answer.status, answer.body.error.code]).toEqual([422, "decision_refused"]);
    expect(await scene.balance(mine)).toBe(before);
  });

  test("DEC-08 BILL-02 is billed once: with the same Idempotency-Key it is neither sent nor charged again", async () => {
    const mine = await scene.gateway.tenant();
    const before = await scene.balance(mine);
    const headers = { "idempotency-key": "declined-once" };
    const body = decisionBody({ model: "lab/beta", questions: lit });
    scene.at("beta").next(refused({ input_tokens: 100 }));
    const first = await scene.decide(mine.key, body, headers);
    const calls = scene.at("beta").requests.length;
    const again = await scene.decide(mine.key, body, headers);
    expect([first.status, again.status, again.body.error.code]).toEqual([422, 422, "idempotent_replay"]);
    expect(scene.at("beta").requests.length).toBe(calls);
    expect(before - (await scene.balance(mine))).toBeCloseTo(100 * 200e-6, 9);
    const row = await scene.row(first.headers.get("x-svc-request-id") ?? "");
    expect([row.status, row.error_code, row.cost]).toEqual([422, "decision_refused", "0.02"]);
  });

  test("DEC-08 with the workspace's own key nothing is charged for it", async () => {
    const mine = await scene.gateway.tenant({ credit: "0" });
    await scene.gateway.manage("PUT", `/workspaces/${mine.slug}/providers/beta`, {
      key: "own-key-of-the-workspace",
      skip_test: true,
    });
    scene.at("beta").next(refused({ input_tokens: 100 }));
    const answer = await scene.decide(mine.key, decisionBody({ model: "lab/beta", questions: lit }));
    expect(answer.status).toBe(422);
    expect(await scene.balance(mine)).toBe(0);
  });
});

describe("the log", () => {
  const canary = { "canary-name-77": { ...QUESTIONS.lit, instructions: "Is the canary-words-78 on?" } };
  const body = (model: string) => decisionBody({ model, state: { note: "canary-state-79" }, questions: canary });

  test.each<[string, "alpha" | "delta" | "beta", Json, number]>([
    ["an answer that is missing", "alpha", { json: { answers: {}, usage: SO_ANSWER.usage } }, 502],
    ["no reported label", "delta", { json: chatWithLogprobs({ The: 0.9 }) }, 502],
    ["no usage", "delta", { json: chatWithLogprobs(YES, { usage: undefined }) }, 502],
    [
      "a question that was declined",
      "beta",
      {
        json: {
          answers: [{ type: "refusal", name: "canary-name-77" }],
          usage: { input_tokens: 5, output_tokens: 0 },
        },
      },
      422,
    ],
    [
      "an error that reports it",
      "beta",
      { status: 400, json: { error: { code: "content_filter", message: "canary-state-79 is not allowed" } } },
      422,
    ],
    ["an error that quotes", "alpha", { status: 422, json: { detail: [{ msg: "canary-name-77 is bad" }] } }, 422],
  ])("DEC-11 has no question names and no content, not with %s either", async (_name, at, script, status) => {
    scene.at(at).next(script);
    const answer = await scene.decide(tenant.key, body(`lab/${at}`));
    expect(answer.status).toBe(status);
    const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
    expect(row.attempts).toHaveLength(1);
    expect(JSON.stringify(row)).not.toContain("canary");
    if (answer.body.error.code === "decision_refused") expect(answer.body.error.param).toBe("questions.canary-name-77");
  });

  test("DEC-11 also if no endpoint fits the request, or it is malformed", async () => {
    const criteria = Array.from({ length: 11 }, (_, level) => `canary ${level}`);
    for (const type of ["score", "canary"]) {
      const questions = { "canary-name-77": { type, instructions: "How?", criteria } };
      const answer = await scene.decide(tenant.key, decisionBody({ questions }));
      expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_value"]);
      expect(answer.body.error.param).toContain("questions.canary-name-77.");
      const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
      expect(JSON.stringify(row)).not.toContain("canary");
    }
  });
});

describe("the shape of OpenAI's SDK", () => {
  const question = { type: "predicate", name: "lit", instructions: "Is it on?" };
  const call = (more: object) =>
    scene.gateway.call(tenant.key, "/openai/v1/decisions", {
      body: { model: "lab/alpha", input: "It is on.", questions: [question], ...more },
    });
  const levels = Array.from({ length: 11 }, (_, level) => ({ label: `level ${level}` }));
  const choices = Array.from({ length: 300 }, (_, at) => ({ value: `option ${at}` }));

  test.each<[string, object, string]>([
    [
      "too many levels",
      { questions: [question, { type: "score", instructions: "How?", levels }] },
      "questions.1.levels",
    ],
    ["too many choices", { questions: [{ type: "choice", instructions: "Which?", choices }] }, "questions.0.choices"],
    [
      "a duplicate choice",
      { questions: [question, { type: "choice", instructions: "Which?", choices: [{ value: "a" }, { value: "a" }] }] },
      "questions.1.choices",
    ],
    ["an input that is too long", { input: "word ".repeat(20_000) }, "input"],
    ["an empty message", { input: [{ role: "user", content: " " }] }, "input"],
    [
      "an empty question",
      { questions: [question, { type: "predicate", instructions: [{ type: "input_text", text: "" }] }] },
      "questions.1.instructions",
    ],
  ])("DEC-15 %s: the error names the caller's own field", async (_name, more, param) => {
    const before = scene.at("alpha").requests.length;
    const { status, body } = await call(more);
    expect([status, body.error?.param]).toEqual([400, param]);
    expect(scene.at("alpha").requests.length).toBe(before);
  });

  test("DEC-15 ids of calls and messages reach the provider; cache marks are reported as dropped", async () => {
    const answer = await call({
      input: [
        { role: "assistant", phase: "commentary", content: "I look." },
        { type: "function_call", call_id: "c1", namespace: "home", name: "look", arguments: "{}" },
        {
          type: "function_call_output",
          call_id: "c1",
          output: [{ type: "input_text", text: "on", prompt_cache_breakpoint: { mode: "explicit" } }],
        },
      ],
    });
    expect(answer.status).toBe(200);
    const sent: Json = scene.at("alpha").requests.at(-1)?.json;
    expect(sent.state.input).toEqual([
      { role: "assistant", phase: "commentary", content: "I look." },
      { type: "function_call", call_id: "c1", namespace: "home", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "on" },
    ]);
    const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
    expect(row.omitted).toEqual(["input[].output[].prompt_cache_breakpoint"]);
  });
});
