import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import {
  chunksOf,
  contentOf,
  costNanos,
  eventsOf,
  nanosOf,
  openScene,
  type Provider,
  type Scene,
} from "../support/scene.ts";
import { chatFrames, chatJson, type Script } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud", "scaleway", "ionos"];
const EUROPEAN: readonly Provider[] = ["ovhcloud", "scaleway", "ionos"];

beforeAll(async () => {
  scene = await openScene(ALL);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const counts = () => Object.fromEntries(ALL.map((provider) => [provider, scene.at(provider).requests.length]));

/** The number of requests per provider during a call. */
async function callsDuring(run: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = counts();
  await run();
  const after = counts();
  return Object.fromEntries(
    ALL.map((provider) => [provider, (after[provider] ?? 0) - (before[provider] ?? 0)] as const).filter(
      ([, calls]) => calls > 0,
    ),
  );
}

const setPolicy = (policy: object) => scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, policy);
const BUSY: Script = { status: 503, json: { error: { message: "busy" } } };

describe("order and failover of a plain model", () => {
  test("ROUTE-08 ROUTE-04 endpoints are tried in order of expected cost, each once, until one answers", async () => {
    for (const provider of ["deepinfra", "ovhcloud", "scaleway"] as const) scene.at(provider).next(BUSY);
    scene.at("ionos").next({ json: chatJson({ content: "from ionos" }) });
    let id = "";
    const calls = await callsDuring(async () => {
      const { status, body, headers } = await scene.chat(tenant.key);
      expect([status, body.choices[0].message.content]).toEqual([200, "from ionos"]);
      expect(headers.get("x-svc-provider")).toBe("ionos");
      id = body.id;
    });
    expect(calls).toEqual({ deepinfra: 1, ovhcloud: 1, scaleway: 1, ionos: 1 });
    const row = await scene.row(id);
    expect(row.attempts.map((attempt: { provider: string }) => attempt.provider)).toEqual(ALL);
    // Each of them received the input.
    expect(row.countries).toEqual(["DE", "US", "FR"]);
    // The catalogue's prices, sorted independently of the gateway's code.
    const costs = ALL.map((provider) => costNanos(provider, { input: 8, output: 512 }));
    expect(costs).toEqual(costs.toSorted((a, b) => (a < b ? -1 : 1)));
  });

  const BEFORE_THE_ANSWER: readonly (readonly [string, Script])[] = [
    ["429", { status: 429, json: {} }],
    ["500", { status: 500, json: {} }],
    ["502 in HTML", { status: 502, body: "<html>bad gateway</html>", headers: { "content-type": "text/html" } }],
    ["503", BUSY],
    ["504", { status: 504, body: "" }],
    ["529", { status: 529, json: {} }],
    ["a connection closed before any header", { end: { is: "cut", after: "before_headers", how: "fin" } }],
    ["a connection reset before any header", { end: { is: "cut", after: "before_headers", how: "rst" } }],
    [
      "a connection closed after the headers",
      { frames: ["x"], end: { is: "cut", after: "after_headers", how: "fin" } },
    ],
  ];
  test.each(BEFORE_THE_ANSWER)(
    "ROUTE-04 BILL-02 %s: the next endpoint answers, and the request is billed once, at its price",
    async (_, script) => {
      for (const stream of [false, true]) {
        const payer = await scene.gateway.tenant();
        scene.at("deepinfra").next(script);
        const calls = await callsDuring(async () => {
          const { status, text } = await scene.chat(payer.key, { stream });
          expect(status).toBe(200);
          expect(text).toContain("Hello");
        });
        expect(calls).toEqual({ deepinfra: 1, ovhcloud: 1 });
        const [row] = await scene.rows(payer);
        expect(await scene.charges(payer)).toEqual([
          { id: `charge:${row.id}`, nanos: costNanos("ovhcloud", { input: 11, output: 7 }) },
        ]);
        expect(row.attempts).toMatchObject([
          { provider: "deepinfra", outcome: "next" },
          { provider: "ovhcloud", outcome: "served" },
        ]);
      }
    },
  );

  test("ROUTE-04 a stream that breaks after its preamble fails over, and the client sees one preamble", async () => {
    const [role = "", ...rest] = chatFrames(["never seen"]);
    for (const script of [
      { frames: [role, role, rest[0] ?? ""], end: { is: "cut", after: Buffer.byteLength(role + role), how: "rst" } },
      { frames: [": comment\n\n", role], end: { is: "cut", after: Buffer.byteLength(role) + 11, how: "fin" } },
      { frames: [role, "data: [DONE]\n\n"] },
      { frames: [role, 'data: {"error":{"message":"no capacity"}}\n\n'] },
    ] satisfies Script[]) {
      scene.at("deepinfra").next(script);
      const { status, text, headers } = await scene.chat(tenant.key, { stream: true });
      expect(status).toBe(200);
      expect(headers.get("x-svc-provider")).toBe("ovhcloud");
      const roles = chunksOf(text).filter(({ choices }) => choices[0].delta.role !== undefined);
      expect(roles).toHaveLength(1);
      expect(contentOf(text)).toBe("Hello there");
      expect(eventsOf(text).at(-1)).toBe("[DONE]");
    }
  });

  test("ROUTE-04 after the first content there is no failover", async () => {
    const frames = chatFrames(["word"]).slice(0, 2);
    scene.at("deepinfra").next({ frames, end: { is: "cut", after: Buffer.byteLength(frames.join("")), how: "rst" } });
    const calls = await callsDuring(() => scene.chat(tenant.key, { stream: true }));
    expect(calls).toEqual({ deepinfra: 1 });
  });

  test("ROUTE-04 a refusal of the caller's request is not retried elsewhere", async () => {
    scene.at("deepinfra").next({ status: 422, json: { error: { message: "bad schema" } } });
    const calls = await callsDuring(() => scene.chat(tenant.key));
    expect(calls).toEqual({ deepinfra: 1 });
  });

  test("ROUTE-04 no endpoint is tried twice for one request, however many fail", async () => {
    for (const provider of ALL) scene.at(provider).next(BUSY);
    const calls = await callsDuring(async () => expect((await scene.chat(tenant.key)).status).toBe(502));
    expect(calls).toEqual({ deepinfra: 1, ovhcloud: 1, scaleway: 1, ionos: 1 });
  });
});

describe("the decision in the log", () => {
  test("ROUTE-03 candidates with reasons, exclusions, the order, and every attempt", async () => {
    await setPolicy({ floor: "L3", blocked_providers: ["ionos"] });
    scene.at("ovhcloud").next(BUSY);
    const { headers } = await scene.chat(tenant.key);
    const { stdout, code } = await scene.gateway.cli("log", "show", String(headers.get("x-svc-request-id")), "--json");
    expect(code).toBe(0);
    const { decision, attempts } = JSON.parse(stdout);
    expect(decision.candidates).toEqual([
      expect.objectContaining({ provider: "ovhcloud", level: "L3", outcome: "planned", reason: "rank 1" }),
      expect.objectContaining({ provider: "scaleway", level: "L3", outcome: "planned", reason: "rank 2" }),
      expect.objectContaining({
        provider: "deepinfra",
        level: "L0",
        outcome: "excluded",
        reason: expect.stringContaining("sovereignty_floor_not_met"),
      }),
      expect.objectContaining({
        provider: "ionos",
        outcome: "excluded",
        reason: expect.stringContaining("provider_blocked"),
      }),
    ]);
    expect(decision.order).toEqual([expect.stringMatching(/^ovhcloud:/), expect.stringMatching(/^scaleway:/)]);
    expect(attempts).toEqual([
      expect.objectContaining({
        endpoint: decision.order[0],
        outcome: "next",
        upstream_status: 503,
        reason: expect.stringContaining("503"),
      }),
      expect.objectContaining({ endpoint: decision.order[1], outcome: "served", upstream_status: 200 }),
    ]);
  });

  test("ROUTE-03 an unsupported parameter of an endpoint is the reason in the log", async () => {
    const { body } = await scene.chat(tenant.key, { max_tokens: 20_000 });
    const { decision } = await scene.row(body.id);
    expect(decision.candidates).toContainEqual(
      expect.objectContaining({
        provider: "deepinfra",
        outcome: "excluded",
        reason: "supports at most 16384 output tokens",
      }),
    );
    expect(decision.order[0]).toMatch(/^ovhcloud:/);
  });

  test("ROUTE-03 LOG-01 if no endpoint may serve, the log has a reason for each exclusion", async () => {
    await setPolicy({ floor: "L4" });
    const { status, body } = await scene.chat(tenant.key);
    expect([status, body.error.code]).toEqual([403, "sovereignty_floor_not_met"]);
    const { decision, attempts } = await scene.row(body.error.request_id);
    expect(decision.candidates.map(({ provider }: { provider: string }) => provider).toSorted()).toEqual(
      ALL.toSorted(),
    );
    for (const one of decision.candidates)
      expect(one).toMatchObject({ outcome: "excluded", reason: expect.stringContaining("sovereignty_floor_not_met") });
    expect([decision.order, attempts]).toEqual([[], []]);
  });
});

describe("policy on every attempt", () => {
  test("POL-02 under a floor no byte reaches an endpoint below it, streamed or not", async () => {
    await setPolicy({ floor: "L3" });
    const calls = await callsDuring(async () => {
      for (const stream of [false, true]) {
        const { status, headers } = await scene.chat(tenant.key, { stream });
        expect([status, headers.get("x-svc-sovereignty-level")]).toEqual([200, "L3"]);
      }
    });
    expect(calls).toEqual({ ovhcloud: 2 });
  });

  test("POL-02 if all endpoints above the floor fail, the response is 502, and those below receive nothing", async () => {
    await setPolicy({ floor: "L3" });
    const connections = scene.at("deepinfra").connections();
    for (const stream of [false, true]) {
      for (const provider of EUROPEAN) scene.at(provider).next(BUSY);
      const calls = await callsDuring(async () => {
        const { status, body } = await scene.chat(tenant.key, { stream });
        expect([status, body.error.code]).toEqual([502, "upstream_error"]);
      });
      expect(calls).toEqual({ ovhcloud: 1, scaleway: 1, ionos: 1 });
    }
    expect(scene.at("deepinfra").connections()).toBe(connections);
  });

  test("POL-02 a policy tightened during an attempt excludes later attempts", async () => {
    const reached = scene.at("deepinfra").requests.length;
    const gate = Promise.withResolvers<void>();
    scene.at("deepinfra").next({ ...BUSY, gate: gate.promise });
    let status = 0;
    let provider: string | null = null;
    const calls = await callsDuring(async () => {
      const answer = scene.chat(tenant.key);
      await scene.at("deepinfra").arrived(reached + 1);
      await setPolicy({ countries: ["DE"] });
      gate.resolve();
      const { status: got, headers } = await answer;
      status = got;
      provider = headers.get("x-svc-provider");
    });
    expect(calls).toEqual({ deepinfra: 1, ionos: 1 });
    expect([status, provider]).toEqual([200, "ionos"]);
    const [row] = await scene.rows(tenant);
    expect(row.attempts.map((attempt: { outcome: string; reason: string }) => attempt.reason)).toEqual([
      expect.stringContaining("503"),
      expect.stringContaining("FR"),
      expect.stringContaining("FR"),
      "complete response",
    ]);
  });

  test("POL-02 ERR-08 a policy that removes the last endpoints between attempts is the reported reason", async () => {
    for (const stream of [false, true]) {
      await setPolicy({ floor: null });
      const reached = scene.at("deepinfra").requests.length;
      const gate = Promise.withResolvers<void>();
      scene.at("deepinfra").next({ ...BUSY, gate: gate.promise });
      const calls = await callsDuring(async () => {
        const answer = scene.chat(tenant.key, { stream });
        await scene.at("deepinfra").arrived(reached + 1);
        await setPolicy({ floor: "L4" });
        gate.resolve();
        const { status, body, headers } = await answer;
        expect([status, body.error.type, body.error.code]).toEqual([
          403,
          "permission_error",
          "sovereignty_floor_not_met",
        ]);
        expect(body.error.message).toContain("L4");
        expect(headers.get("x-svc-provider")).toBe(null);
      });
      expect(calls).toEqual({ deepinfra: 1 });
    }
    expect(await scene.charges(tenant)).toEqual([]);
    expect(nanosOf((await scene.wallet(tenant)).held)).toBe(0n);
  });

  test.each([
    ["compute_country_not_allowed", { countries: ["DE"] }, { ionos: 1 }],
    ["provider_blocked", { blocked_providers: ["deepinfra", "ovhcloud"] }, { scaleway: 1 }],
  ])("POL-02 %s: only the remaining endpoint is called", async (_, policy, expected) => {
    await setPolicy(policy);
    const calls = await callsDuring(async () => expect((await scene.chat(tenant.key)).status).toBe(200));
    expect(calls).toEqual(expected);
  });

  test("POL-02 if policy leaves no endpoint, the refusal names the rule; no provider is called and nothing charged", async () => {
    await setPolicy({ floor: "L4" });
    const calls = await callsDuring(async () => {
      const { status, body } = await scene.chat(tenant.key, { stream: true });
      expect([status, body.error.type, body.error.code]).toEqual([
        403,
        "permission_error",
        "sovereignty_floor_not_met",
      ]);
      for (const provider of ALL) expect(body.error.message).toContain(provider);
    });
    expect(calls).toEqual({});
    expect(await scene.charges(tenant)).toEqual([]);
  });
});
