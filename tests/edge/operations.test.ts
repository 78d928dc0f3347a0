import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningGateway, start } from "../../src/main.ts";
import { PROJECT_ROOT, readConfig } from "../../src/settings/config.ts";
import { chatFrames } from "../support/chat-bodies.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { cleanUp, type GatewayProcess, spawnGateway, temporaryFolder } from "./child.ts";
import { answersIn, CHAT, expectRefusal, expectWireEnvelope, HELLO, SCALEWAY_MODEL, type WireAnswer } from "./wire.ts";

afterAll(cleanUp);

async function get(url: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { headers });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

describe("liveness and readiness", () => {
  let running: RunningGateway;

  beforeAll(async () => {
    running = await start(readConfig({ PORT: "0", DATA_DIR: temporaryFolder(), LOG_LEVEL: "silent" }));
  });
  afterAll(() => running.stop());

  test("OPS-01 /readyz fails until the start is complete, /healthz succeeds throughout", async () => {
    const before = await get(`${running.origin}/readyz`);
    expectRefusal(before, 503, "service_unavailable");
    expect(before.headers.get("retry-after")).toBe("1");
    expect(await get(`${running.origin}/healthz`)).toMatchObject({ status: 200, text: "ok\n" });
    await running.ready();
    const after = await get(`${running.origin}/readyz`);
    expect(after).toMatchObject({ status: 200, text: "ready\n" });
    for (const name of ["content-type", "cache-control"])
      expect(after.headers.get(name)).toMatch(/text\/plain|no-store/);
  });
});

/** An upstream whose stream begins at once and continues when the test releases it. */
async function gatedUpstream() {
  const held: ServerResponse[] = [];
  const [role = "", first = "", ...rest] = chatFrames(["begun", " and finished"], { usage: "asked" });
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(role + first);
    held.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? (address satisfies AddressInfo).port : 0;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    finish: () => {
      for (const response of held.splice(0)) response.end(rest.join(""));
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A client with a stream on a raw socket that it can continue to write on. */
function streamingClient(url: string, key: string) {
  const body = JSON.stringify({ ...HELLO, model: SCALEWAY_MODEL, stream: true });
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port) });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)));
  socket.on("error", () => undefined);
  const closed = new Promise<WireAnswer[]>((resolve) =>
    socket.on("close", () => resolve(answersIn(Buffer.concat(chunks)))),
  );
  socket.write(
    `POST ${CHAT} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return {
    closed,
    write: (text: string) => socket.write(text),
    begun: async () => {
      while (!Buffer.concat(chunks).includes("begun")) await sleep(5);
    },
  };
}

function isRefused(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port) });
    socket.on("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.on("error", () => resolve(true));
  });
}

async function streamingGateway(baseUrl: string) {
  const gateway = spawnGateway({ PROVIDER_SCALEWAY_API_KEY: "k", PROVIDER_SCALEWAY_BASE_URL: baseUrl });
  const url = await gateway.ready();
  const key = /^Key {6}(\S+)$/m.exec(gateway.stdout())?.[1] ?? "";
  return { gateway, url, key };
}

describe("shutdown", () => {
  const upstreams: Awaited<ReturnType<typeof gatedUpstream>>[] = [];
  const openUpstream = async () => {
    const upstream = await gatedUpstream();
    upstreams.push(upstream);
    return upstream;
  };
  afterAll(() => {
    for (const upstream of upstreams) upstream.close();
  });

  test.concurrent("OPS-01 SIGTERM lets a running stream finish, refuses new connections, fails /readyz and exits with 0", async () => {
    const upstream = await openUpstream();
    const { gateway, url, key } = await streamingGateway(upstream.baseUrl);
    const client = streamingClient(url, key);
    await client.begun();
    // A launcher and a terminal both send one: within a second they count as one signal.
    gateway.child.kill("SIGTERM");
    gateway.child.kill("SIGTERM");
    while (!(await isRefused(url))) await sleep(5);
    expect(gateway.child.exitCode).toBeNull();
    client.write("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
    await sleep(500);
    upstream.finish();
    const [stream, readiness, ...more] = await client.closed;
    expect(stream?.status).toBe(200);
    expect(stream?.body).toContain(" and finished");
    expect(stream?.body.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(readiness?.status).toBe(503);
    expect(readiness === undefined ? undefined : expectWireEnvelope(readiness)).toMatchObject({
      code: "service_unavailable",
      message: expect.stringContaining("draining"),
    });
    expect(readiness?.headers.get("connection")).toBe("close");
    expect(more).toEqual([]);
    expect(await gateway.exited).toBe(0);
    expect(gateway.stderr()).not.toMatch(/"level":(?:50|60)/);
  });

  test.concurrent("OPS-01 a second signal after more than a second ends it at once, and the books survive", async () => {
    const upstream = await openUpstream();
    const { gateway, url, key } = await streamingGateway(upstream.baseUrl);
    const client = streamingClient(url, key);
    await client.begun();
    gateway.child.kill("SIGTERM");
    // Wait until the signal was received.
    while (!(await isRefused(url))) await sleep(5);
    await sleep(1200);
    expect(gateway.child.exitCode).toBeNull();
    gateway.child.kill("SIGTERM");
    expect(await gateway.exited).toBe(1);
    const [cut] = await client.closed;
    expect(cut?.body).not.toContain("[DONE]");

    const again = spawnGateway({ DATA_DIR: gateway.dataDir });
    const origin = await again.ready();
    const token = readFileSync(path.join(gateway.dataDir, "admin-token"), "utf8").trim();
    const doctor = await get(`${origin}/manage/doctor`, { authorization: `Bearer ${token}` });
    expect(JSON.parse(doctor.text)).toMatchObject({ ok: true });
    expect(await again.stop()).toBe(0);
  });

  test.concurrent("OPS-01 an idle gateway with open connections exits at once on SIGTERM", async () => {
    const gateway: GatewayProcess = spawnGateway();
    const url = await gateway.ready();
    const idle = connect({ host: "127.0.0.1", port: Number(new URL(url).port) });
    const half = connect({ host: "127.0.0.1", port: Number(new URL(url).port) });
    for (const socket of [idle, half]) socket.on("error", () => undefined);
    half.write("GET /healthz HTTP/1.1\r\nHost:");
    await Promise.all([idle, half].map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    expect(await gateway.stop()).toBe(0);
    for (const socket of [idle, half]) socket.destroy();
  });
});

describe("metrics", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startGateway({ env: { GATEWAY_TRUSTED_PROXIES: "127.0.0.1, 10.0.0.0/8", GATEWAY_RPM_IP: "0" } });
    const { key } = await gateway.tenant();
    expect((await gateway.call(key, CHAT, { body: HELLO })).status).toBe(200);
    expect((await gateway.call(key, CHAT, { body: { ...HELLO, stream: true } })).status).toBe(200);
    expect((await gateway.call(key, CHAT, { body: { ...HELLO, model: "sandbox/fail-500" } })).status).toBe(502);
    await gateway.call(key, CHAT, { body: { ...HELLO, model: "PLANTED/model" }, headers: { "x-title": "PLANTED" } });
    await gateway.call(`sk_svc_live_PLANTED`, "/v1/PLANTED?PLANTED=1", { method: "DELETE" });
  });
  afterAll(() => gateway.close());

  test("OPS-02 they are public on the machine itself, others need the operator token", async () => {
    const url = `${gateway.url}/metrics`;
    const { status, headers } = await get(url);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^text\/plain; version=/);
    const token = `Bearer ${gateway.adminToken}`;
    for (const forwarded of [
      { "x-forwarded-for": "203.0.113.7" },
      { "x-forwarded-for": "127.0.0.1, 203.0.113.7" },
      { "x-forwarded-for": "127.0.0.1, 10.1.2.3" },
      { "x-forwarded-for": "127.0.0.1" },
      { "x-forwarded-for": "unknown" },
      { "x-real-ip": "203.0.113.7" },
      { forwarded: "for=203.0.113.7" },
      { via: "1.1 proxy" },
    ]) {
      const refused = await get(url, { ...forwarded });
      expectRefusal(refused, 401, "invalid_admin_token");
      expect(refused.headers.get("www-authenticate")).toBe("Bearer");
      for (const wrong of ["Bearer nobody", `Bearer ${gateway.key}`, gateway.adminToken, `${token}x`])
        expectRefusal(await get(url, { ...forwarded, authorization: wrong }), 401, "invalid_admin_token");
      for (const right of [token, `bearer ${gateway.adminToken}`])
        expect((await get(url, { ...forwarded, authorization: right })).status).toBe(200);
    }
  });

  test("SAFE-02 without a token they answer only Host names of this machine", async () => {
    const { port } = new URL(gateway.url);
    const withHost = async (host: string, authorization?: string) => {
      const socket = connect({ host: "127.0.0.1", port: Number(port) });
      const credentials = authorization === undefined ? "" : `Authorization: ${authorization}\r\n`;
      socket.end(`GET /metrics/ HTTP/1.1\r\nHost: ${host}\r\n${credentials}Connection: close\r\n\r\n`);
      const chunks: Buffer[] = [];
      for await (const chunk of socket) chunks.push(Buffer.from(chunk));
      return answersIn(Buffer.concat(chunks))[0]?.status;
    };
    for (const host of ["localhost", `localhost:${port}`, `127.0.0.1:${port}`, "127.8.8.8", `[::1]:${port}`])
      expect([host, await withHost(host)]).toEqual([host, 200]);
    for (const host of [
      "evil.example",
      `rebound.evil.example:${port}`,
      "gateway.example.eu",
      "localhost.evil.example",
      "::1",
    ])
      expect([host, await withHost(host)]).toEqual([host, 401]);
    expect(await withHost("gateway.example.eu", `Bearer ${gateway.adminToken}`)).toBe(200);
  });

  /** Name, type and labels of every metric; the series of a histogram belong to it. */
  function shownIn(text: string): Map<string, { type: string; labels: Set<string> }> {
    const shown = new Map<string, { type: string; labels: Set<string> }>();
    for (const [, name = "", type = ""] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
      shown.set(name, { type, labels: new Set() });
    for (const [, series = "", list = ""] of text.matchAll(/^((?:gateway|gen_ai)_\w+?)(?:\{(.*)\})? \S+$/gm)) {
      const name = shown.has(series) ? series : series.replace(/_(?:bucket|sum|count)$/, "");
      for (const [, label = ""] of list.matchAll(/(\w+)="/g)) if (label !== "le") shown.get(name)?.labels.add(label);
    }
    return shown;
  }

  test("OPS-02 docs/metrics.md names every metric with its type and labels, and no other", async () => {
    const { text } = await get(`${gateway.url}/metrics`);
    const documented = [
      ...readFileSync(path.join(PROJECT_ROOT, "docs/metrics.md"), "utf8").matchAll(
        /^\| `(\w+)` \| (\w+) \| (.*?) ?\|/gm,
      ),
    ];
    const rows = documented.map(([, name, type, labels = ""]) => ({
      name,
      type,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label).toSorted(),
    }));
    // A metric without observations has no labels.
    const shown = [...shownIn(text)].map(([name, { type, labels }]) => {
      const isSeen = new RegExp(`^${name}(?:_count)?[{ ]`, "m").test(text);
      const unseen = rows.find((row) => row.name === name)?.labels ?? [];
      return { name, type, labels: isSeen ? [...labels].toSorted() : unseen };
    });
    const byName = (a: { name: string | undefined }, b: { name: string | undefined }) =>
      String(a.name) < String(b.name) ? -1 : 1;
    expect(shown.toSorted(byName)).toEqual(rows.toSorted(byName));
  });

  test("OPS-02 they count events, and no caller's text becomes a label", async () => {
    const { text } = await get(`${gateway.url}/metrics`);
    const value = (series: string) =>
      Number(new RegExp(`^${series.replace(/[{}]/g, "\\$&")} (\\S+)$`, "m").exec(text)?.[1]);
    expect(
      value('gateway_inference_requests_total{surface="chat",provider="sandbox-us",status="200",code="none"}'),
    ).toBe(2);
    expect(
      value('gateway_inference_requests_total{surface="chat",provider="none",status="404",code="model_not_found"}'),
    ).toBe(1);
    expect(value('gateway_http_requests_total{route="unknown",status="404"}')).toBe(1);
    expect(value('gateway_tokens_total{provider="sandbox-us",kind="output"}')).toBeGreaterThan(0);
    expect(value("gateway_draining")).toBe(0);
    expect(value("gateway_running_requests")).toBe(1);
    expect(value("gateway_resident_memory_bytes")).toBeGreaterThan(10_000_000);
    expect(text).not.toContain("PLANTED");
    expect(text).not.toContain("team-");

    const leaving = new AbortController();
    const body = { model: "sandbox/slow", messages: [{ role: "user", content: "Hello!" }] };
    const left = gateway.call(gateway.key, "/v1/chat/completions", { body, signal: leaving.signal });
    const metrics = async () => (await get(`${gateway.url}/metrics`)).text;
    await expect.poll(metrics).toContain("gateway_running_requests 2");
    leaving.abort();
    await expect(left).rejects.toThrow();
    await expect.poll(metrics).toContain('gateway_http_requests_total{route="createChatCompletion",status="499"} 1');
  });
});
