import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { Json, Tenant, TestGateway } from "../support/gateway.ts";
import {
  agentForTest,
  type CreatedNode,
  chatAnswer,
  createNode,
  localForTest,
  waitForNodeState,
} from "../support/nodes.ts";
import { forwarding, until } from "../support/peers.ts";
import { hasPostgres } from "../support/postgres.ts";
import { COMPILED, PROGRAM } from "../support/program.ts";
import { hasRedis } from "../support/redis.ts";
import { contentOf, eventsOf, openChat } from "../support/scene.ts";
import { unusedPort } from "../support/upstream.ts";

const OWN = "node/rack/tiny";
const SANDBOX = "sandbox/chat";

const chunk = (model: string, delta: Json, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "chatcmpl-local-1", object: "chat.completion.chunk", created: 1, model, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/** Replies complete or streamed; a stream about `wait` stays open after its first chunk. */
function replyingServer(open: ServerResponse[]) {
  return (body: Json, response: ServerResponse) => {
    if (body.stream !== true) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(chatAnswer(body.model)));
      return;
    }
    response.setHeader("content-type", "text/event-stream");
    response.write(chunk(body.model, { content: "Hello " }));
    if (JSON.stringify(body).includes("wait")) open.push(response);
    else finish(body.model, response);
  };
}

function finish(model: string, response: ServerResponse): void {
  response.write(chunk(model, { content: "there." }));
  response.write(chunk(model, {}, "stop"));
  response.end("data: [DONE]\n\n");
}

const asking = (content: string, more: Json = {}) => ({ model: OWN, messages: [{ role: "user", content }], ...more });
const chat = (gateway: TestGateway, { key }: Tenant, body: Json = asking("hi")) =>
  gateway.call(key, "/v1/chat/completions", { body });

describe.skipIf(!hasRedis || !hasPostgres)("nodes of several instances", { timeout: 60_000 }, () => {
  let fleet: TestFleet;
  let a: TestGateway;
  beforeAll(async () => {
    fleet = await startFleet();
    a = await fleet.add({ GATEWAY_DRAIN_TIMEOUT_MS: "5000" });
  }, 60_000);
  afterAll(() => fleet.close());

  /** A tenant created on one instance, with a node whose agent connects to another. */
  async function withNode(at: string, more: Json = {}, capacity = 8) {
    const tenant = await a.tenant();
    const open: ServerResponse[] = [];
    const local = await localForTest({ answer: replyingServer(open) });
    const node: CreatedNode = await createNode(a, tenant.slug, "rack", more);
    const agent = agentForTest(at, node.token, local.url, { finishMs: 5_000, capacity });
    const shown = await waitForNodeState(a, tenant.slug, "rack", "connected");
    return { tenant, open, local, node, agent, shown };
  }

  test("NODE-01 NODE-03 HDR-05 one instance's request is served by a node at another, complete and streamed, until its removal", async () => {
    const b = await fleet.add();
    // Its token was created on another instance a moment ago and is valid here.
    const { tenant, node, agent, local, shown, open } = await withNode(b.url);
    const there = await waitForNodeState(b, tenant.slug, "rack", "connected");
    expect(shown).toMatchObject({ models: ["tiny"], capacity: 8, agent: "test", address: "127.0.0.1" });
    expect([shown.instance, shown.connected_at]).toEqual([there.instance, there.connected_at]);
    const answer = await chat(a, tenant);
    expect([answer.status, answer.body.choices[0].message.content]).toEqual([200, "Hello from the rack."]);
    expect(answer.body.usage.cost).toBe(0);
    expect(answer.headers.get("x-svc-served-by")).toBe("own-resource");
    expect(answer.headers.get("x-svc-node-id")).toBe(node.id);
    const stream = await chat(a, tenant, asking("hi", { stream: true }));
    expect([contentOf(stream.text), eventsOf(stream.text).at(-1)]).toEqual(["Hello there.", "[DONE]"]);
    expect((await chat(b, tenant)).status).toBe(200);

    const row = await b.manage("GET", `/requests/${answer.body.id}`);
    expect(row).toMatchObject({ node_id: node.id, provider: "node-rack", cost: "0.00" });
    expect(row.decision.candidates[0].reason).toContain("the workspace's own node, through another instance");
    const { data } = await a.manage("GET", `/workspaces/${tenant.slug}/requests`);
    expect(data.map(({ node_id }: Json) => node_id)).toEqual([node.id, node.id, node.id]);
    const { evidence } = await a.manage("GET", `/workspaces/${tenant.slug}/evidence`);
    expect(evidence).toMatchObject([{ own_node: true, operator: "the workspace itself", countries: ["DE"] }]);

    // A client disconnect at one instance reaches the node at the other.
    const waiting = await openChat(a.url, tenant.key, asking("wait", { stream: true }));
    await until(() => open.length === 1);
    const felt = open[0] === undefined ? undefined : once(open[0], "close");
    waiting.hangUp();
    await felt;

    const other = await a.tenant();
    const outside = await chat(a, other);
    expect([outside.status, outside.body.error.code]).toEqual([404, "model_not_found"]);

    // A setting changed on one instance applies to the next request on the other.
    await b.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { countries: ["DE"] });
    await b.manage("PATCH", `/workspaces/${tenant.slug}/nodes/rack`, { country: "CH" });
    const abroad = await chat(a, tenant);
    expect([abroad.status, abroad.body.error.code]).toEqual([403, "compute_country_not_allowed"]);
    await b.manage("PATCH", `/workspaces/${tenant.slug}/nodes/rack`, { country: "DE" });
    expect((await chat(a, tenant)).headers.get("x-svc-compute-countries")).toBe("DE");
    await b.manage("PATCH", `/workspaces/${tenant.slug}/nodes/rack`, { mapping: { tiny: SANDBOX } });
    const mapped = await chat(a, tenant, { ...asking("hi"), model: SANDBOX });
    expect(mapped.headers.get("x-svc-node-id")).toBe(node.id);

    await a.manage("DELETE", `/workspaces/${tenant.slug}/nodes/rack`);
    expect(await agent.over).toContain("removed or its token revoked");
    const gone = await Promise.all([chat(a, tenant), chat(b, tenant)]);
    expect(gone.map(({ status }) => status)).toEqual([404, 404]);
    expect(local.received).toHaveLength(6);
  });

  test("NODE-02 SCALE-02 a node at capacity is busy at every instance: skipped, 429 by name, circuit closed", async () => {
    const b = await fleet.add({ GATEWAY_ASIDE_FAILURES: "2" });
    const c = await fleet.add({ GATEWAY_ASIDE_FAILURES: "2" });
    const { tenant, open, local } = await withNode(b.url, { mapping: { tiny: SANDBOX } }, 1);
    await waitForNodeState(c, tenant.slug, "rack", "connected");
    const mapped = { ...asking("hi"), model: SANDBOX };
    const waiting = await openChat(b.url, tenant.key, asking("wait", { stream: true }));
    await until(() => open.length === 1);
    for (const instance of [b, c]) {
      for (let time = 0; time < 3; time += 1) {
        const busy = await chat(instance, tenant);
        expect([busy.status, busy.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
        expect([busy.body.error.message, busy.headers.get("retry-after")]).toEqual([
          expect.stringContaining("concurrency limit"),
          "1",
        ]);
        const refused = await a.manage("GET", `/requests/${busy.headers.get("x-request-id")}`);
        expect(refused).toMatchObject({ attempts: [{ outcome: "next", maybe_accepted: false }], countries: null });
        const served = await chat(instance, tenant, mapped);
        expect([served.status, served.headers.get("x-svc-served-by")]).toEqual([200, null]);
        const [passed] = (await a.manage("GET", `/requests/${served.body.id}`)).attempts;
        expect(passed).toMatchObject({ provider: "node-rack", reason: expect.stringContaining("concurrency limit") });
      }
      const shown = await waitForNodeState(instance, tenant.slug, "rack", "connected");
      expect(shown).toMatchObject({ last_error: null, set_aside: null });
    }
    for (const response of open) finish("tiny", response);
    await waiting.over;
    await eventually(async () => {
      expect(await waitForNodeState(b, tenant.slug, "rack", "connected")).toMatchObject({ running: 0 });
    });
    for (const instance of [b, c])
      expect((await chat(instance, tenant, mapped)).headers.get("x-svc-served-by")).toBe("own-resource");
    expect(local.received).toHaveLength(3);
  });

  test("NODE-02 a stopping instance moves its nodes to another, and finishes its requests", async () => {
    const b = await fleet.add({ GATEWAY_DRAIN_TIMEOUT_MS: "10000" });
    let front = b.url;
    const { tenant, open, shown } = await withNode((await forwarding(() => front)).url);
    const waiting = await openChat(a.url, tenant.key, asking("wait", { stream: true }));
    await until(() => open.length === 1);
    front = a.url;
    const stopped = b.close();
    // Meanwhile every request is served.
    for (let instance = shown.instance; instance === shown.instance; ) {
      expect((await chat(a, tenant)).status).toBe(200);
      ({ instance } = await waitForNodeState(a, tenant.slug, "rack", "connected"));
    }
    for (const response of open) finish("tiny", response);
    await waiting.over;
    expect(contentOf(waiting.text)).toBe("Hello there.");
    await stopped;
    expect((await chat(a, tenant)).status).toBe(200);
  });

  test("NODE-02 OPS-01 ERR-02 an instance after its drain aborts node requests as a stop: failed over, circuit closed", async () => {
    const b = await fleet.add({ GATEWAY_DRAIN_TIMEOUT_MS: "300" });
    const open: ServerResponse[] = [];
    const local = await localForTest({
      answer(body, response) {
        open.push(response);
        if (body.stream !== true) return;
        response.setHeader("content-type", "text/event-stream");
        response.write(chunk(body.model, { content: "Hello " }));
      },
    });
    const tenant = await a.tenant();
    const { token } = await createNode(a, tenant.slug, "rack", { mapping: { tiny: SANDBOX } });
    agentForTest(b.url, token, local.url, { finishMs: 5_000 });
    await waitForNodeState(a, tenant.slug, "rack", "connected");
    const waiting = await openChat(a.url, tenant.key, asking("wait", { stream: true }));
    await until(() => waiting.text.includes("Hello"));
    const [only, mapped] = [chat(a, tenant), chat(a, tenant, { ...asking("hi"), model: SANDBOX })];
    await until(() => open.length === 3);
    await b.close();

    await waiting.over;
    const stops = { code: "service_unavailable", message: expect.stringContaining("is stopping") };
    expect(JSON.parse(eventsOf(waiting.text).at(-1) ?? "")).toMatchObject({ error: stops });
    const refused = await only;
    expect([refused.status, refused.body.error]).toMatchObject([503, stops]);
    expect(refused.headers.get("retry-after")).not.toBeNull();
    const served = await mapped;
    expect([served.status, served.headers.get("x-svc-served-by")]).toEqual([200, null]);
    const row = await a.manage("GET", `/requests/${served.body.id}`);
    expect(row.attempts[0]).toMatchObject({
      provider: "node-rack",
      outcome: "next",
      reason: "the gateway instance that the node is connected to is stopping",
      maybe_accepted: true,
    });
    expect(await waitForNodeState(a, tenant.slug, "rack", "offline")).toMatchObject({
      last_error: null,
      set_aside: null,
    });
  });

  test("NODE-02 an instance killed during a reply ends it with an error; others then serve, and the node is offline", async () => {
    const killed = await startProcess(fleet.env);
    const { tenant, open } = await withNode(killed.url, { mapping: { tiny: SANDBOX } });
    expect((await chat(a, tenant, { ...asking("hi"), model: SANDBOX })).headers.get("x-svc-provider")).toBe(
      "node-rack",
    );
    const waiting = await openChat(a.url, tenant.key, asking("wait", { stream: true }));
    await until(() => open.length === 1 && waiting.text.includes("Hello"));
    killed.child.kill("SIGKILL");
    await waiting.over;
    expect(JSON.parse(eventsOf(waiting.text).at(-1) ?? "").error.code).toBe("upstream_error");
    // The first requests get the same error as later ones: clients do not retry what was not found.
    const [byName, served] = await Promise.all([chat(a, tenant), chat(a, tenant, { ...asking("hi"), model: SANDBOX })]);
    expect([byName.status, byName.body.error.code]).toEqual([502, "upstream_error"]);
    expect([served.status, served.headers.get("x-svc-served-by")]).toEqual([200, null]);
    expect((await chat(a, tenant)).status).toBe(502);
    const killedAtMs = Date.now();
    const away = await waitForNodeState(a, tenant.slug, "rack", "offline");
    expect(Math.abs(Date.parse(away.last_seen_at) - killedAtMs)).toBeLessThan(30_000);
    expect(away.instance).toBeNull();
  });
});

/** An instance in its own process, which can be killed. */
async function startProcess(env: Readonly<Record<string, string>>): Promise<{ url: string; child: ChildProcess }> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), "gateway-killed-"));
  const port = await unusedPort();
  const child = spawn(process.execPath, [...PROGRAM, "serve"], {
    env: {
      PATH: process.env["PATH"] ?? "",
      ...COMPILED,
      ...env,
      PORT: String(port),
      DATA_DIR: dataDir,
      LOG_LEVEL: "silent",
    },
    stdio: "ignore",
  });
  const exited = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
    rmSync(dataDir, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 400; tries += 1) {
    const ready = await fetch(`${url}/readyz`).catch(() => undefined);
    if (ready?.status === 200) return { url, child };
    await sleep(50);
  }
  throw new Error("the instance did not start");
}
