import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decisionBody, QUESTIONS, RED, STATE } from "../support/decisions.ts";
import { eventually } from "../support/eventually.ts";
import { startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { allProven, honestly, systemOne } from "../support/proofs.ts";
import { SEED_CATALOGUE } from "../support/recordings.ts";
import { connectedTo } from "../support/scene.ts";
import { startUpstream } from "../support/upstream.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_ASIDE_FAILURES: "0" } });
  const tenant = await gateway.tenant();
  // The simulated providers are probed like any other, right after the start.
  await eventually(async () => {
    const { status, body } = await gateway.call(tenant.key, "/v1/models/sandbox/decide");
    expect([status, body?.svc_providers?.length]).toEqual([200, 3]);
  }, 20_000);
});
afterAll(() => gateway.close());

const blocking = async (...blocked_providers: string[]): Promise<Tenant> => {
  const tenant = await gateway.tenant();
  await gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers });
  return tenant;
};
const decide = ({ key }: Tenant, more: Record<string, unknown> = {}) =>
  gateway.call(key, "/v1/decisions", { body: decisionBody({ model: "sandbox/decide", ...more }) });

const PROVIDERS = ["sandbox-us", "sandbox-de", "sandbox-fr"] as const;
const others = (provider: string) => PROVIDERS.filter((one) => one !== provider);

describe("sandbox/decide", () => {
  test("DEC-02 it is listed with the surface once it is proven, and lists image input", async () => {
    const tenant = await gateway.tenant();
    const { body } = await gateway.call(tenant.key, "/v1/models");
    const model = body.data.find(({ id }: { id: string }) => id === "sandbox/decide");
    expect(model).toMatchObject({ svc_surfaces: ["moderations", "decisions"], svc_decision_images: true });
    expect(body.data.some(({ id }: { id: string }) => id.startsWith("sandbox/decide-"))).toBe(false);
  });

  test.each(PROVIDERS)("DEC-07 %s answers all three types in its own interface", async (provider) => {
    const tenant = await blocking(...others(provider));
    const on = await decide(tenant);
    expect([on.status, on.headers.get("x-svc-provider")]).toEqual([200, provider]);
    expect(on.body.answers.lit.noul).toBeGreaterThanOrEqual(0.8);
    expect(on.body.answers["room.name"].choice).toBe("kitchen");
    expect(on.body.answers.bright_2.probabilities["0"]).toBeGreaterThan(0);
    const off = await decide(tenant, { state: "The light in the kitchen is switched off." });
    expect(off.body.answers.lit.noul).toBeLessThanOrEqual(0.2);
    const again = await decide(tenant);
    expect(again.body.answers).toEqual(on.body.answers);
  });

  test.each(["sandbox-us", "sandbox-de"])("DEC-05 %s recognizes the colour of an image", async (provider) => {
    const tenant = await blocking(...others(provider));
    const red = { state: "A picture.", images: [RED], questions: { q: { type: "noul", instructions: "Is it red?" } } };
    expect((await decide(tenant, red)).body.answers.q.noul).toBeGreaterThan(0.8);
    const blue = { ...red, questions: { q: { type: "noul", instructions: "Is it blue?" } } };
    expect((await decide(tenant, blue)).body.answers.q.noul).toBeLessThan(0.2);
  });

  test.each(PROVIDERS)(
    "DEC-08 at %s sandbox/decide-refuses declines everything but a plain yes or no, and is paid",
    async (provider) => {
      const tenant = await blocking(...others(provider));
      const answer = await decide(tenant, { model: "sandbox/decide-refuses" });
      expect([answer.status, answer.body.error.code]).toEqual([422, "decision_refused"]);
      expect(answer.body.error.message).toContain("room.name");
      const row = await gateway.manage("GET", `/requests/${answer.body.error.request_id}`);
      expect(Number(row.cost)).toBeGreaterThan(0);
      expect(
        (await decide(tenant, { model: "sandbox/decide-refuses", questions: { lit: QUESTIONS.lit } })).status,
      ).toBe(200);
    },
  );

  test.each(["drops", "changes", "unmetered"])(
    "DEC-06 sandbox/decide-%s answers wrongly everywhere: 502",
    async (how) => {
      const tenant = await gateway.tenant();
      const answer = await decide(tenant, { model: `sandbox/decide-${how}` });
      expect([answer.status, answer.body.error.code]).toEqual([502, "upstream_invalid_answer"]);
      const row = await gateway.manage("GET", `/requests/${answer.body.error.request_id}`);
      expect(row.attempts.length).toBe(3);
      expect(Number(row.cost)).toBe(0);
    },
  );

  test("DEC-15 the official SDK works unchanged", async () => {
    const { key } = await gateway.tenant();
    const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/openai/v1` });
    const { answers } = await client.decisions.create({
      model: "sandbox/decide",
      input: "The light in the kitchen is switched on.",
      questions: [{ type: "predicate", name: "lit", instructions: "Is the light in the kitchen on?" }],
    });
    expect(answers).toEqual([{ type: "predicate", name: "lit", probability: 0.97 }]);
  });
});

describe("a catalogue of seven files", () => {
  test("DEC-07 its decision endpoints have the same interfaces as the shipped ones", async () => {
    const upstream = await startUpstream(systemOne(honestly));
    const env = {
      ...connectedTo(new Map([["perplexity", upstream]])),
      GATEWAY_CATALOGUE_DIR: SEED_CATALOGUE,
      GATEWAY_SANDBOX: "off",
    };
    const own = await startGateway({ env, prepare: allProven });
    try {
      const { key } = await own.tenant();
      const body = decisionBody({
        model: "perplexity/pplx-decider-v1.2",
        images: [RED],
        questions: { lit: QUESTIONS.lit },
      });
      const answer = await own.call(key, "/v1/decisions", { body });
      expect([answer.status, answer.body.answers.lit.noul]).toEqual([200, 0.98]);
      const [sent] = upstream.requests;
      expect(sent?.path).toBe("/v1/decisions");
      expect(sent?.json).toMatchObject({ state: [STATE, { type: "image_url", image_url: { url: RED } }] });
    } finally {
      await own.close();
      await upstream.close();
    }
  });
});
