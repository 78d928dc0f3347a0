import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DecisionScene, decisionBody, OD_ANSWER, openDecisions, SO_ANSWER } from "../support/decisions.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import type { Script } from "../support/upstream.ts";

let scene: DecisionScene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openDecisions();
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const { lit, "room.name": room, bright_2: bright } = SO_ANSWER.answers;
const withAnswers = (answers: object) => ({ ...SO_ANSWER, answers: { ...SO_ANSWER.answers, ...answers } });

const BROKEN: readonly (readonly [string, Json])[] = [
  ["misses a key", { ...SO_ANSWER, answers: { lit, "room.name": room } }],
  ["has an unrequested key", withAnswers({ more: lit })],
  ["changes a type", withAnswers({ "room.name": { type: "noul", noul: 0.4 } })],
  ["gives a probability as text", withAnswers({ lit: { type: "noul", noul: "0.97" } })],
  ["gives a probability above one", withAnswers({ lit: { type: "noul", noul: 1.2 } })],
  ["gives none", withAnswers({ lit: { type: "noul" } })],
  ["chooses an unknown option", withAnswers({ "room.name": { ...room, choice: "garden" } })],
  ["chooses an option that is not the likeliest", withAnswers({ "room.name": { ...room, choice: "cellar" } })],
  ["forgets an option", withAnswers({ "room.name": { ...room, probabilities: { kitchen: 0.94, cellar: 0.06 } } })],
  [
    "does not add up",
    withAnswers({ "room.name": { ...room, probabilities: { kitchen: 0.9, cellar: 0.04, attic: 0.02 } } }),
  ],
  ["has a confidence above one", withAnswers({ "room.name": { ...room, confidence: 1.4 } })],
  ["scores beyond the scale", withAnswers({ bright_2: { ...bright, score: 2.4 } })],
  ["scores another level than its probabilities", withAnswers({ bright_2: { ...bright, score: 0.9 } })],
  ["scores without figures", withAnswers({ bright_2: { type: "score", score: 1.55, confidence: 0.3 } })],
  ["has no answers", { model: "x", usage: SO_ANSWER.usage }],
  ["is a list", [SO_ANSWER]],
  ["tells no usage", { ...SO_ANSWER, usage: undefined }],
  ["reports half of its usage", { ...SO_ANSWER, usage: { input_tokens: 10 } }],
  ["tells impossible usage", { ...SO_ANSWER, usage: { input_tokens: -4, output_tokens: 0 } }],
  ["reports usage above the model's context", { ...SO_ANSWER, usage: { input_tokens: 900_000, output_tokens: 0 } }],
];

describe("an incomplete reply", () => {
  test.each(BROKEN)(
    "DEC-06 one that %s is never returned in part: the next endpoint is called",
    async (_name, json) => {
      const mine = await scene.gateway.tenant();
      const before = await scene.balance(mine);
      scene.at("alpha").next({ json });
      const answer = await scene.decide(mine.key, decisionBody({ model: "lab/judge" }));
      expect([answer.status, answer.headers.get("x-svc-provider")]).toEqual([200, "beta"]);
      expect(answer.body.answers.lit).toEqual({ type: "noul", noul: 0.98 });
      // Charged once, by the endpoint that answered.
      expect(before - (await scene.balance(mine))).toBeCloseTo(130 * 200e-6, 9);
      const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
      expect(row.attempts.map(({ provider, outcome }: Json) => [provider, outcome])).toEqual([
        ["alpha", "next"],
        ["beta", "served"],
      ]);
    },
  );

  test.each(BROKEN)(
    "DEC-06 one that %s, and no endpoint is left: 502 upstream_invalid_answer, nothing charged",
    async (_name, json) => {
      const mine = await scene.gateway.tenant();
      const before = await scene.balance(mine);
      scene.at("alpha").next({ json });
      const answer = await scene.decide(mine.key, decisionBody());
      expect([answer.status, answer.body.error.code, answer.body.error.type]).toEqual([
        502,
        "upstream_invalid_answer",
        "upstream_error",
      ]);
      expect(await scene.balance(mine)).toBe(before);
    },
  );

  test("DEC-02 usage is never estimated: a reply without usage is an invalid response", async () => {
    scene.at("beta").next({ json: { ...OD_ANSWER, usage: undefined } });
    const answer = await scene.decide(tenant.key, decisionBody({ model: "lab/beta" }));
    expect(answer.body.error.code).toBe("upstream_invalid_answer");
    expect(answer.body.error.message).toBe(
      "The provider beta returned no usable response of lab/beta (the provider reported no usage), and no other endpoint is available. Try again, or use another model.",
    );
    const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
    expect(row.attempts[0].reason).toContain("reported no usage");
  });

  test.each([
    ["a state that is sent again for each question", "word ".repeat(4000)],
    ["the provider's own instructions, which are", "The door is open."],
  ])("DEC-02 BILL-02 %s: usage of one request for many questions is accepted and charged", async (_, state) => {
    const mine = await scene.gateway.tenant();
    const before = await scene.balance(mine);
    const keys = Array.from({ length: 10 }, (_, at) => `q${at}`);
    const questions = Object.fromEntries(keys.map((key) => [key, { type: "noul", instructions: "Is it open?" }]));
    const answers = Object.fromEntries(keys.map((key) => [key, lit]));
    scene.at("alpha").next({ json: { ...SO_ANSWER, answers, usage: { input_tokens: 42_000, output_tokens: 0 } } });
    const answer = await scene.decide(mine.key, decisionBody({ state, questions }));
    expect(answer.status).toBe(200);
    expect(before - (await scene.balance(mine))).toBeCloseTo(42_000 * 100e-6, 9);
    const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
    expect(row.usage).toMatchObject({ input_tokens: 42_000, estimated: false });
  });

  test("DEC-06 a reply in another format, and an HTML page", async () => {
    for (const script of [{ json: OD_ANSWER }, { body: "<html>Bad gateway</html>" }]) {
      scene.at("alpha").next(script);
      const answer = await scene.decide(tenant.key, decisionBody({ model: "lab/judge" }));
      expect(answer.headers.get("x-svc-provider")).toBe("beta");
    }
  });

  test("DEC-06 probabilities within rounding error are accepted unchanged", async () => {
    const answers = {
      lit,
      // 0.99 in total, and the choice a hundredth below the likeliest.
      "room.name": {
        type: "choice",
        choice: "cellar",
        probabilities: { kitchen: 0.34, cellar: 0.33, attic: 0.32 },
        confidence: 0.01,
      },
      bright_2: { ...bright, probabilities: { "0": 0.11, "1": 0.24, "2": 0.64 }, score: 1.54 },
    };
    scene.at("alpha").next({ json: { ...SO_ANSWER, answers } });
    const { status, body } = await scene.decide(tenant.key, decisionBody());
    expect(status).toBe(200);
    expect(body.answers["room.name"]).toEqual({ type: "choice", choice: "cellar", confidence: 0.01 });
    expect(body.answers.bright_2.score).toBe(1.54);
  });

  test("DEC-06 all other failures fail over, through all interfaces", async () => {
    scene.at("alpha").next({ status: 500 });
    scene.at("beta").next({ end: { is: "cut", after: "after_headers" }, json: {} });
    const answer = await scene.decide(tenant.key, decisionBody({ model: "lab/judge" }));
    expect([answer.status, answer.headers.get("x-svc-provider")]).toEqual([200, "delta"]);
  });

  describe("one endpoint gives an invalid reply and the other fails", () => {
    const wrong = { json: { ...SO_ANSWER, answers: { lit } } };
    const wrongBeta = { json: { ...OD_ANSWER, answers: [] } };
    let two: Tenant;
    beforeAll(async () => {
      two = await scene.gateway.tenant();
      const blocked_providers = ["gamma", "delta", "epsilon"];
      await scene.gateway.manage("PATCH", `/workspaces/${two.slug}/policy`, { blocked_providers });
    });
    const judged = async (alpha: Script, beta: Script) => {
      scene.at("alpha").next(alpha);
      scene.at("beta").next(beta);
      const { status, body } = await scene.decide(two.key, decisionBody({ model: "lab/judge" }));
      return [status, body.error.code];
    };

    test.each([
      ["fails", { status: 500 }],
      ["is at its rate limit", { status: 429, headers: { "retry-after": "30" } }],
      ["rejects the gateway's key", { status: 401 }],
      ["is cut off", { end: { is: "cut", after: "after_headers" }, json: {} }],
    ] as const)("DEC-06 it %s: 502 upstream_invalid_answer, whichever comes first", async (_how, script) => {
      const invalid = [502, "upstream_invalid_answer"];
      expect(await judged(wrong, script)).toEqual(invalid);
      expect(await judged(script, wrongBeta)).toEqual(invalid);
    });

    test("DEC-06 a refusal of the request itself is reported as such", async () => {
      const refusal = { status: 400, json: { error: { message: "Too many words.", code: "bad" } } };
      expect(await judged(wrong, refusal)).toEqual([400, "provider_error"]);
    });
  });

  test("RATE-07 a provider's 429 with no endpoint left stays a 429", async () => {
    scene.at("alpha").next({ status: 429, headers: { "retry-after": "30" }, json: { detail: "slow down" } });
    const answer = await scene.decide(tenant.key, decisionBody());
    expect([answer.status, answer.body.error.code, answer.headers.get("retry-after")]).toEqual([
      429,
      "rate_limit_exceeded",
      "30",
    ]);
  });
});
