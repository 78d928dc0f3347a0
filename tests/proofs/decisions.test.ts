import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { BLUE_SQUARE, RED_SQUARE } from "../../src/app/prober/decisions-proof.ts";
import { decisionBody, openDecisions } from "../support/decisions.ts";
import { eventually } from "../support/eventually.ts";
import { gatewayForTest, type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { type Cluster, hasPostgres, startCluster } from "../support/postgres.ts";
import { honestly, systemOne } from "../support/proofs.ts";
import { connectedTo, credentialOf } from "../support/scene.ts";
import { type ReplySource, startUpstream, type Upstream } from "../support/upstream.ts";

const MODEL = "typesafe/jev-1.13.0";
const ENDPOINT = `typesafe:global:${MODEL}`;
const QUIET = { GATEWAY_SANDBOX: "off", GATEWAY_RPM_IP: "0", GATEWAY_DRAIN_TIMEOUT_MS: "1000" };
const SECRETS = {
  GATEWAY_ADMIN_TOKEN: "operator-of-the-tests-1f3870be274f6c49b3e31a0c6728957f",
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
};

async function upstreamFor(source: ReplySource): Promise<Upstream> {
  const upstream = await startUpstream(source);
  onTestFinished(() => upstream.close());
  return upstream;
}

const envOf = (upstream: Upstream, more: Record<string, string> = {}) => ({
  ...connectedTo(new Map([["typesafe", upstream]])),
  ...QUIET,
  ...more,
});

/** A gateway whose only provider replies with this. */
async function openAt(source: ReplySource, more: Record<string, string> = {}) {
  const upstream = await upstreamFor(source);
  const gateway = await gatewayForTest({ env: envOf(upstream, more) });
  return { upstream, gateway, ...(await callsOf(gateway)) };
}

async function callsOf(gateway: TestGateway) {
  const tenant = await gateway.tenant();
  const body = { model: MODEL, state: "The door is open.", questions: { q: { type: "noul", instructions: "Open?" } } };
  return {
    tenant,
    decide: () => gateway.call(tenant.key, "/v1/decisions", { body }),
    probe: (): Promise<Json> => gateway.manage("POST", "/probes", { endpoint: ENDPOINT }),
    listed: async (): Promise<Json> => {
      const { data } = (await gateway.call(tenant.key, "/v1/models")).body;
      return data.find(({ id }: Json) => id === MODEL)?.svc_surfaces;
    },
  };
}

describe("DEC-02 a decision model", () => {
  test("is neither listed nor called before a proof, and is after it", async () => {
    const { upstream, gateway, tenant, decide, probe, listed } = await openAt(systemOne(honestly));
    expect(await listed()).toBeUndefined();
    const before = await decide();
    expect([before.status, before.body.error.code]).toEqual([404, "model_not_found"]);
    expect(before.body.error.message).toContain(`${ENDPOINT} has no valid proof on decisions`);
    expect(before.body.error.message).toContain(`gateway probe --endpoint ${ENDPOINT}`);
    expect(upstream.requests).toHaveLength(0);

    const made = await probe();
    expect(made).toMatchObject({
      ok: true,
      data: [{ endpoint: ENDPOINT, surface: "decisions", result: "proven", cause: "operator", input_tokens: 80 }],
    });
    expect(await listed()).toEqual(["decisions"]);
    const after = await decide();
    expect([after.status, after.body.answers]).toEqual([200, { q: { type: "noul", noul: 0.98 } }]);
    const rows = (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=10`)).data;
    expect(rows.map(({ status }: Json) => status).sort()).toEqual([200, 404]);
  });

  test("is probed with the operator's credential and synthetic content, invisible and free for workspaces", async () => {
    const { upstream, gateway, tenant, probe } = await openAt(systemOne(honestly));
    await probe();
    expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual(
      Array(2).fill(`Bearer ${credentialOf("typesafe")}`),
    );
    expect(upstream.requests.map(({ json }) => json)).toMatchObject([
      { state: "The light in the kitchen is switched on." },
      { state: "The light in the kitchen is switched off." },
    ]);
    const workspaces = (await gateway.manage("GET", "/workspaces")).data;
    for (const { slug } of workspaces) {
      expect((await gateway.manage("GET", `/workspaces/${slug}/requests`)).data).toEqual([]);
      const entries = (await gateway.manage("GET", `/workspaces/${slug}/wallet/entries`)).data;
      expect(entries.filter(({ kind }: Json) => kind === "charge")).toEqual([]);
    }
    expect(await gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`)).toMatchObject({ balance: "100.00" });
    const { text } = await gateway.call(gateway.adminToken, "/metrics");
    expect(text).toContain('gateway_proofs_total{surface="decisions",provider="typesafe",result="proven"} 1');
    expect(text).toContain('gateway_proof_tokens_total{provider="typesafe",kind="input"} 80');
  });

  const LIARS: readonly [string, ReplySource, RegExp][] = [
    ["always says yes", systemOne(() => 0.9), /expected no, but the probability of yes is 0\.90/],
    ["always says no", systemOne(() => 0.1), /expected yes, but its probability is 0\.10/],
    ["does not report usage", systemOne(honestly, null), /reported no usage/],
    [
      "says that it used nothing",
      systemOne(honestly, { input_tokens: 0, output_tokens: 0 }),
      /reported no input tokens/,
    ],
    ["gives no probability", systemOne(() => 7), /./],
    [
      "answers with a page",
      { body: "<html>Welcome</html>", headers: { "content-type": "text/html" } },
      /not a valid response/,
    ],
    ["answers with nothing", {}, /not a valid response/],
    ["refuses the credential", { status: 401, json: { detail: "canary-of-the-provider" } }, /credential.*\(401\)/],
    ["sends somewhere else", { status: 302, headers: { location: "https://example.org" } }, /\(302\)/],
    ["breaks off", { json: { answers: {} }, end: { is: "cut", after: 5 } }, /was cut off/],
  ];
  test.each(LIARS)("is not served at a provider that %s", async (_what, source, reason) => {
    const { gateway, decide, probe, listed } = await openAt(source);
    const made = await probe();
    expect([made.ok, made.data[0].result]).toEqual([false, "failed"]);
    expect(made.data[0].reason).toMatch(reason);
    expect(JSON.stringify(made)).not.toContain("canary");
    expect(await listed()).toBeUndefined();
    expect((await decide()).status).toBe(404);
    const doctor = await gateway.manage("GET", "/doctor");
    expect(doctor.ok).toBe(true);
    expect(doctor.checks.find(({ name }: Json) => name === "proofs").detail).toContain(made.data[0].reason);
  });

  test("is withdrawn after consecutive failures, and is back with the next success", async () => {
    let proofs: "true" | "false" = "true";
    const honest = systemOne(honestly);
    const { decide, probe, listed } = await openAt((received) =>
      proofs === "false" && JSON.stringify(received.json).includes("kitchen") ? { status: 500 } : honest(received),
    );
    await probe();
    proofs = "false";
    for (const served of [200, 200, 404, 404]) {
      expect((await probe()).ok).toBe(false);
      expect((await decide()).status).toBe(served);
    }
    expect(await listed()).toBeUndefined();
    proofs = "true";
    await probe();
    expect([(await decide()).status, await listed()]).toEqual([200, ["decisions"]]);
  });

  test("is withdrawn for workspaces with an own key there, too", async () => {
    const { upstream, gateway, tenant, decide, probe } = await openAt(systemOne(honestly), {
      GATEWAY_PROOF_FAILURES: "1",
    });
    const own = "own-key-of-a-workspace-4b825dc642cb6eb9";
    await gateway.manage("PUT", `/workspaces/${tenant.slug}/providers/typesafe`, { key: own, skip_test: true });
    expect((await decide()).status).toBe(404);
    await probe();
    expect((await decide()).status).toBe(200);
    expect(upstream.requests.at(-1)?.headers.authorization).toBe(`Bearer ${own}`);
    upstream.always({ status: 500 });
    await probe();
    expect((await decide()).status).toBe(404);
  });

  test("is not probed when the surface is disabled", async () => {
    const { upstream, gateway } = await openAt(systemOne(honestly), { GATEWAY_DECISIONS: "off" });
    expect((await gateway.manage("POST", "/probes", {})).data).toEqual([]);
    expect((await gateway.manage("GET", "/proofs")).data).toEqual([]);
    expect(upstream.requests).toHaveLength(0);
  });

  test("is probed right after the start by default", async () => {
    const { upstream, listed } = await openAt(systemOne(honestly), { GATEWAY_PROOF_EVERY: "24h" });
    await eventually(async () => expect(await listed()).toEqual(["decisions"]), { interval: 25 });
    expect(upstream.requests.length).toBeGreaterThanOrEqual(2);
  });
});

describe("DEC-05 a server that accepts images and ignores them", () => {
  const WITH_PICTURE = { images: [RED_SQUARE], questions: { q: { type: "noul", instructions: "Is it red?" } } };
  const TEXT = { questions: WITH_PICTURE.questions };
  const seeing = (state: string) => (state.includes(BLUE_SQUARE) ? 0.02 : honestly(state));

  test("DEC-02 serves decisions, and gets no image until it distinguishes them", async () => {
    const scene = await openDecisions({ GATEWAY_PROOF_FAILURES: "2" });
    onTestFinished(() => scene.close());
    const { key } = await scene.gateway.tenant();
    const endpoint = "alpha:one:lab/alpha";
    const probe = () => scene.gateway.manage("POST", "/probes", { endpoint });
    const status = async (more: object) => {
      const { status, body } = await scene.decide(key, decisionBody({ model: "lab/alpha", ...more }));
      return [status, body.error?.code];
    };
    const listed = async () => (await scene.gateway.call(key, "/v1/models/lab/alpha")).body;
    const standing = async () => {
      const { data } = await scene.gateway.manage("GET", "/proofs");
      return data.find((one: Json) => one.endpoint === endpoint);
    };
    scene.at("alpha").always(systemOne(honestly));
    // Stored by a version that required all or nothing, images included.
    expect(await status(WITH_PICTURE)).toEqual([200, undefined]);

    const first = await probe();
    expect([first.ok, first.data[0].result]).toEqual([true, "proven"]);
    expect(first.data[0].reason).toContain("it does not distinguish images: 0.98 for red and 0.98 for blue");
    expect(await standing()).toMatchObject({ proven: true, images: true });
    await probe();
    expect(await standing()).toMatchObject({ proven: true, images: false, failures: 0 });
    expect(await listed()).toMatchObject({ svc_surfaces: ["decisions"], svc_decision_images: false });
    const before = scene.at("alpha").requests.length;
    expect(await status(WITH_PICTURE)).toEqual([400, "image_input_not_supported"]);
    expect(scene.at("alpha").requests).toHaveLength(before);
    expect(await status(TEXT)).toEqual([200, undefined]);
    const doctor = await scene.gateway.manage("GET", "/doctor");
    expect(doctor.checks.find(({ name }: Json) => name === "proofs").detail).toContain(
      `1 proven without images, and used without them: ${endpoint} on decisions`,
    );

    scene.at("alpha").always(systemOne(seeing));
    await probe();
    expect(await standing()).toMatchObject({ proven: true, images: true });
    expect(await listed()).toMatchObject({ svc_decision_images: true });
    expect(await status(WITH_PICTURE)).toEqual([200, undefined]);
  });
});

let cluster: Cluster | undefined;
beforeAll(async () => {
  cluster = hasPostgres ? await startCluster() : undefined;
}, 60_000);
afterAll(() => cluster?.close());

describe.each(["SQLite", ...(hasPostgres ? ["PostgreSQL"] : [])])("DEC-02 on %s", (engine) => {
  test("a proof survives a restart until the endpoint changes", { timeout: 60_000 }, async () => {
    const database = engine === "SQLite" ? undefined : await cluster?.database("empty");
    const more = database === undefined ? {} : { ...SECRETS, DATABASE_URL: database.url };
    const dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-proofs-"));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const upstream = await upstreamFor(systemOne(honestly));
    const run = async <T>(at: Upstream, work: (gateway: TestGateway) => Promise<T>): Promise<T> => {
      const gateway = await startGateway({ dataDir, env: envOf(at, more) });
      try {
        return await work(gateway);
      } finally {
        await gateway.close();
      }
    };
    const key = await run(upstream, async (gateway) => {
      const { tenant, probe } = await callsOf(gateway);
      await probe();
      return tenant.key;
    });
    const decisionBody = upstream.requests.length;
    const decide = (gateway: TestGateway) =>
      gateway.call(key, "/v1/decisions", {
        body: { model: MODEL, state: "A.", questions: { q: { type: "noul", instructions: "A?" } } },
      });
    expect((await run(upstream, decide)).status).toBe(200);
    expect(upstream.requests).toHaveLength(decisionBody + 1);
    const elsewhere = await upstreamFor(systemOne(honestly));
    expect((await run(elsewhere, decide)).status).toBe(404);
    expect(elsewhere.requests).toHaveLength(0);
  });
});
