import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcp, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { eventually } from "../../../tests/support/eventually.ts";
import { systemClock } from "../../kit/clock.ts";
import { systemTimers, type Timers } from "../../kit/timers.ts";
import type { UpstreamCall, UpstreamFailure } from "../upstream/transport.ts";
import { type AgentOptions, type AgentStatus, NodeAgent } from "./node-agent.ts";
import { CLOSE_CODES, TUNNEL_PATH } from "./protocol.ts";
import { PROBE_USER_AGENT } from "./surface-probe.ts";
import { type ConnectedNode, TunnelHub, type TunnelHubRules } from "./tunnel-hub.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const urlOf = (server: Server | ReturnType<typeof createTcp>): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return urlOf(server);
}

const MODELS = { object: "list", data: [{ id: "tiny", object: "model", max_model_len: 4096 }] };

/** A scripted local server. */
async function localServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  models: { readonly data: readonly object[] } = MODELS,
  name = "local",
): Promise<string> {
  const url = await listening(
    createServer((request, response) => {
      if (request.headers["user-agent"] === PROBE_USER_AGENT) return response.writeHead(404).end();
      if (request.url !== "/v1/models") return answer(request, response);
      response.writeHead(200, { "content-type": "application/json", server: name }).end(JSON.stringify(models));
    }),
  );
  return `${url}/v1`;
}

/** A hub behind a server that accepts one token. */
async function hubWith(over: Partial<TunnelHubRules> = {}) {
  const seen: ConnectedNode[] = [];
  const lost: string[] = [];
  const waiting: (() => void)[] = [];
  const wake = () => {
    for (const one of waiting.splice(0)) one();
  };
  const hub = new TunnelHub(
    {
      clock: systemClock,
      timers: systemTimers,
      pingEveryMs: 1_000,
      pingTimeoutMs: 1_000,
      announceEveryMs: 1_000,
      calls: { firstByteTimeoutMs: 5_000, idleTimeoutMs: 5_000 },
      ...over,
    },
    {
      onAnnounced: (node) => {
        seen.push(node);
        wake();
      },
      onDisconnected: (id) => {
        lost.push(id);
        wake();
      },
    },
  );
  const server = createServer();
  server.on("upgrade", (request, socket, head) => {
    if (request.url === TUNNEL_PATH && request.headers.authorization === "Bearer right")
      hub.accept("node-1", "127.0.0.1", request, socket, head);
    else socket.end("HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n");
  });
  const url = await listening(server);
  closing.push(() => hub.close());
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  return { hub, url, seen, lost, until };
}

function runAgent(gateway: string, upstream: string, over: Partial<AgentOptions> = {}) {
  const statuses: AgentStatus[] = [];
  const stopping = new AbortController();
  const agent = new NodeAgent({
    gateway: new URL(gateway),
    token: "right",
    local: { base: new URL(upstream), key: null },
    capacity: 4,
    chosen: [],
    surfaces: {},
    version: "test",
    env: {},
    finishMs: 5_000,
    timers: systemTimers,
    monotonicMs: systemClock.monotonicMs,
    random: Math.random,
    report: (status) => statuses.push(status),
    ...over,
  });
  const over_ = agent.run(stopping.signal);
  closing.push(async () => {
    stopping.abort();
    await over_;
  });
  return { statuses, over: over_, stop: () => stopping.abort() };
}

type TunnelResponse = { status: number; text: string; failure: UpstreamFailure | undefined };

/** A request through the tunnel; `on` sees every piece. */
function ask(
  hub: TunnelHub,
  body: string,
  on: (text: string, call: UpstreamCall) => "more" | "pause" = () => "more",
  headers: Record<string, string> = { "content-type": "application/json" },
) {
  let call: UpstreamCall = { abort() {}, resume() {} };
  const done = new Promise<TunnelResponse>((resolve) => {
    const received: TunnelResponse = { status: 0, text: "", failure: undefined };
    call = hub.send(
      { url: "tunnel://node-1/v1/chat/completions", headers, body },
      {
        onFailure: (failure) => resolve({ ...received, failure }),
        onHeaders(status) {
          received.status = status;
          return {
            onData(chunk) {
              received.text += chunk.toString();
              return on(chunk.toString(), call);
            },
            onEnd: () => resolve(received),
            onFailure: (failure) => resolve({ ...received, failure }),
          };
        },
      },
    );
  });
  return { done, abort: () => call.abort(), resume: () => call.resume() };
}

describe("a tunnel", () => {
  test("NODE-01 an agent connects, announces the local models and forwards requests", async () => {
    const upstream = await localServer((request, response) => {
      request.pipe(response);
    });
    const { hub, url, seen, until } = await hubWith();
    const { statuses } = runAgent(url, upstream);
    await until(() => seen.length > 0);
    expect(seen[0]?.announcement.models).toMatchObject([{ id: "tiny", context_tokens: 4096, surfaces: ["chat"] }]);
    const large = "x".repeat(3_000_000);
    const answers = await Promise.all(["one", "two", large, "four"].map((body) => ask(hub, body).done));
    expect(answers.map(({ status, text }) => [status, text.length])).toEqual([
      [200, 3],
      [200, 3],
      [200, 3_000_000],
      [200, 4],
    ]);
    expect(statuses.at(-1)).toMatchObject({ state: "connected", models: 1, problem: null });
  });

  test("NODE-01 only inference paths are forwarded, without hop-by-hop headers", async () => {
    const paths: (string | undefined)[] = [];
    const received: IncomingMessage["headers"][] = [];
    const upstream = await localServer((request, response) => {
      paths.push(request.url);
      received.push(request.headers);
      response.end("{}");
    });
    const { hub, url, seen, until } = await hubWith();
    runAgent(url, upstream);
    await until(() => seen.length > 0);
    const outside = await new Promise<number>((resolve) => {
      hub.send(
        { url: "tunnel://node-1/v1/../admin/shutdown", headers: { connection: "close" }, body: "{}" },
        {
          onFailure: () => resolve(0),
          onHeaders: (status) => ({ onData: () => "more", onEnd: () => resolve(status), onFailure: () => resolve(0) }),
        },
      );
    });
    expect([outside, paths]).toEqual([404, []]);
    const headers = { "content-type": "application/json", "proxy-authorization": "of the way", "x-kept": "yes" };
    expect((await ask(hub, "{}", undefined, headers).done).status).toBe(200);
    expect(paths).toEqual(["/v1/chat/completions"]);
    expect([received[0]?.["proxy-authorization"], received[0]?.["x-kept"]]).toEqual([undefined, "yes"]);
  });

  test("NODE-02 a disconnect aborts the local request, and a slow client applies backpressure", async () => {
    let felt: (() => void) | undefined;
    const gone = new Promise<void>((resolve) => {
      felt = resolve;
    });
    let written = 0;
    const upstream = await localServer((_request, response) => {
      response.on("close", () => felt?.());
      const piece = Buffer.alloc(64 * 1024, 1);
      const more = () => {
        while (!response.destroyed) {
          written += piece.length;
          if (!response.write(piece)) break;
        }
      };
      response.on("drain", more);
      more();
    });
    const { hub, url, seen, until } = await hubWith();
    runAgent(url, upstream);
    await until(() => seen.length > 0);
    const call = ask(hub, "{}", () => "pause");
    // Held back: windows and socket buffers are full some time, and nothing more is made.
    const most = 32 * 1024 * 1024;
    for (let before = -1; written === 0 || (written !== before && written < most); ) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(written).toBeLessThan(most);
    call.abort();
    expect((await call.done).failure).toMatchObject({ kind: "aborted" });
    await gone;
  });

  test("NODE-02 a local server that crashes or is down does not look like a complete response", async () => {
    const upstream = await localServer((_request, response) => {
      response.write("half");
      setTimeout(() => response.destroy(), 20);
    });
    const { hub, url, seen, until } = await hubWith();
    runAgent(url, upstream);
    await until(() => seen.length > 0);
    expect(await ask(hub, "{}").done).toMatchObject({
      status: 200,
      text: "half",
      failure: { kind: "broken", sent: true },
    });
  });

  test.each<[string, (request: IncomingMessage, response: ServerResponse) => void, number | undefined]>([
    ["takes no connection", (request) => request.socket.destroy(), 502],
    // Its answer can be lost where it closes before it has read all.
    ["reads nothing of it", (_request, response) => response.writeHead(413, { connection: "close" }).end(), undefined],
  ])("NODE-02 a request whose local server %s is over, and its place is free again", async (_what, answer, status) => {
    const upstream = await localServer(answer);
    const { hub, url, seen, until } = await hubWith();
    const { statuses } = runAgent(url, upstream, { capacity: 1 });
    await until(() => seen.length > 0);
    for (const served of [1, 2]) {
      const received = await ask(hub, "x".repeat(1024 * 1024)).done;
      expect(["busy", "timeout"]).not.toContain(received.failure?.kind);
      if (status !== undefined) expect(received.status).toBe(status);
      while (statuses.at(-1)?.served !== served) await new Promise((resolve) => setTimeout(resolve, 5));
      expect(statuses.at(-1)?.inFlight).toBe(0);
    }
  });

  test("NODE-01 forwarded requests have a Content-Length", async () => {
    const received: IncomingMessage["headers"][] = [];
    const upstream = await localServer((request, response) => {
      received.push(request.headers);
      response.end("{}");
    });
    const { hub, url, seen, until } = await hubWith();
    runAgent(url, upstream);
    await until(() => seen.length > 0);
    expect((await ask(hub, '{"of":"drei Wörter"}').done).status).toBe(200);
    expect([received[0]?.["content-length"], received[0]?.["transfer-encoding"]]).toEqual(["21", undefined]);
  });

  test.each<[string, (response: ServerResponse) => void, number]>([
    ["a status that is none", (response) => response.writeHead(999), 502],
    ["a header of one hop", (response) => response.setHeader("proxy-connection", "keep-alive"), 200],
  ])("NODE-03 a local server that answers with %s harms nothing that runs beside it", async (_what, answer, status) => {
    let requests = 0;
    let beside: ServerResponse | undefined;
    const upstream = await localServer((_request, response) => {
      requests += 1;
      if (requests === 1) beside = response;
      else {
        answer(response);
        response.end("odd");
      }
    });
    const { hub, url, seen, until } = await hubWith();
    const { statuses } = runAgent(url, upstream);
    await until(() => seen.length > 0);
    const first = ask(hub, "{}");
    while (beside === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await ask(hub, "{}").done).toMatchObject({ status, failure: undefined });
    beside.end("whole");
    expect(await first.done).toMatchObject({ status: 200, text: "whole", failure: undefined });
    expect(statuses.at(-1)?.state).toBe("connected");
  });

  test("NODE-01 models that cannot be announced are named, all others are announced", async () => {
    const names = ["tiny", "my model", "модель", "x".repeat(201), "", "tiny"];
    const many = Array.from({ length: 600 }, (_, at) => `m${at}`);
    const data = [...names, ...many].map((id) => ({ id, max_model_len: 1e12 }));
    const upstream = await localServer((_request, response) => response.end("{}"), { data }, "s".repeat(200));
    const { url, seen, until } = await hubWith();
    const { statuses } = runAgent(url, upstream);
    await until(() => seen.length > 0);
    expect(seen[0]?.announcement.models.map(({ id }) => id)).toEqual(["tiny", ...many.slice(0, 499)]);
    expect(seen[0]?.announcement.models[0]?.context_tokens).toBe(null);
    expect(statuses.at(-1)).toMatchObject({ state: "connected", models: 500 });
    expect(statuses.at(-1)?.problem).toMatch(/^skipped: "my model", "модель", "x+" and \d+ more\. At most 500 models/);
  });

  test("NODE-02 requests beyond the capacity are refused before anything is sent", async () => {
    const held: ServerResponse[] = [];
    const upstream = await localServer((_request, response) => {
      held.push(response);
    });
    const { hub, url, seen, until } = await hubWith();
    runAgent(url, upstream, { capacity: 1 });
    await until(() => seen.length > 0);
    const first = ask(hub, "{}");
    while (held.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await ask(hub, "{}").done).failure).toEqual({
      kind: "busy",
      sent: false,
      why: "the node accepts no more requests",
    });
    held[0]?.end("late");
    expect((await first.done).text).toBe("late");
  });

  test("NODE-02 an agent reconnects after a cut, and running requests fail as broken", async () => {
    const upstream = await localServer((_request, response) => {
      response.write("begun");
    });
    const { hub, url, seen, lost, until } = await hubWith();
    const proxy = await cuttable(url);
    runAgent(proxy.url, upstream, { random: () => 0 });
    await until(() => seen.length > 0);
    const begun = Promise.withResolvers<void>();
    const call = ask(hub, "{}", () => {
      begun.resolve();
      return "more";
    });
    await begun.promise;
    proxy.cut();
    expect((await call.done).failure).toMatchObject({ kind: "broken", sent: true });
    await until(() => lost.length === 1 && seen.length === 2);
    expect(hub.size).toBe(1);
  });

  test("NODE-02 both sides detect a dead connection", async () => {
    const upstream = await localServer((_request, response) => response.end("{}"));
    const { hub, url, seen, lost, until } = await hubWith({ pingEveryMs: 50, pingTimeoutMs: 200 });
    const proxy = await cuttable(url);
    // The minute of quiet after which an agent gives up.
    const timers: Timers = { after: (ms, then) => systemTimers.after(ms === 60_000 ? 1_000 : ms, then) };
    const { statuses } = runAgent(proxy.url, upstream, { random: () => 0, timers });
    await until(() => seen.length > 0);
    proxy.freeze();
    await until(() => lost.length === 1);
    expect(hub.findConnected("node-1")).toBeUndefined();
    await eventually(() => expect(statuses.at(-1)?.state).not.toBe("connected"), { timeout: 10_000 });
    expect((await ask(hub, "{}").done).failure).toMatchObject({ kind: "connect", sent: false });
  });

  test("NODE-02 an agent without a gateway backs off to two attempts a minute", async () => {
    const upstream = await localServer((_request, response) => response.end("{}"));
    const gone = createTcp().listen(0, "127.0.0.1");
    await once(gone, "listening");
    const url = urlOf(gone);
    await new Promise((resolve) => gone.close(resolve));
    // Only the next refresh of the model list waits for it.
    const timers: Timers = { after: (ms, then) => systemTimers.after(ms === 15_000 ? ms : Math.min(ms, 1), then) };
    const { statuses } = runAgent(url, upstream, { random: () => 1, timers });
    const waits = () => statuses.flatMap(({ retryInMs }) => retryInMs ?? []).slice(0, 7);
    await eventually(() => expect(waits()).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]));
  });

  test("NODE-02 an event-loop stall of the gateway disconnects no node", async () => {
    const upstream = await localServer((_request, response) => response.end("{}"));
    const [pingEveryMs, pingTimeoutMs] = [50, 2000];
    const pinged = Promise.withResolvers<void>();
    let pings = 0;
    const timers: Timers = {
      after(ms, then) {
        const timer = systemTimers.after(ms, then);
        if (ms === pingEveryMs || ms > pingTimeoutMs) return timer;
        pings += 1;
        // Right after a ping has gone out, for longer than it may take.
        if (pings === 1) queueMicrotask(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2300));
        if (pings > 3) pinged.resolve();
        return timer;
      },
    };
    const { hub, url, lost } = await hubWith({ timers, pingEveryMs, pingTimeoutMs });
    runAgent(url, upstream);
    await pinged.promise;
    expect([hub.size, lost]).toEqual([1, []]);
  });

  test("NODE-02 an unknown token or a removed node ends the agent with the reason", async () => {
    const upstream = await localServer((_request, response) => response.end("{}"));
    const { hub, url, seen, until } = await hubWith();
    expect(await runAgent(url, upstream, { token: "wrong" }).over).toContain("rejected the token");
    const { over, statuses } = runAgent(url, upstream);
    await until(() => seen.length > 0);
    hub.disconnect("node-1");
    expect(await over).toContain("removed or its token revoked");
    expect(statuses.at(-1)?.state).toBe("over");
  });

  test("NODE-02 a stopping agent finishes running requests and accepts no others", async () => {
    const held: ServerResponse[] = [];
    const upstream = await localServer((_request, response) => {
      response.write("begun, ");
      held.push(response);
    });
    const { hub, url, seen, lost, until } = await hubWith();
    const agent = runAgent(url, upstream);
    await until(() => seen.length > 0);
    const call = ask(hub, "{}");
    while (held.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(hub.loadOf("node-1").running).toBe(1);
    agent.stop();
    while (agent.statuses.at(-1)?.state !== "finishing") await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await ask(hub, "{}").done).failure).toMatchObject({ kind: "connect", sent: false });
    held[0]?.end("ended");
    expect(await call.done).toMatchObject({ text: "begun, ended", failure: undefined });
    expect(await agent.over).toBeUndefined();
    await until(() => lost.length === 1);
    expect(hub.loadOf("node-1").running).toBe(0);
  });

  test("NODE-01 the latency of a node is known right after it connects", async () => {
    const upstream = await localServer((_request, response) => response.end("{}"));
    const { hub, url, seen, until } = await hubWith({ pingEveryMs: 60_000, pingTimeoutMs: 60_000 });
    runAgent(url, upstream);
    await until(() => seen.length > 0);
    while (hub.loadOf("node-1").latencyMs === null) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(hub.loadOf("node-1").latencyMs).toBeGreaterThan(0);
  });

  test("NODE-01 an unreadable announcement closes the connection with the reason", async () => {
    const upstream = await localServer((_request, response) => response.end("{}"));
    const { url } = await hubWith();
    // A version of the future, which says things that this one does not know.
    const reason = await runAgent(url, upstream, { version: "x".repeat(100) }).over;
    expect(reason).toContain("update the node or the gateway");
    expect(CLOSE_CODES.unreadable).toBe(4004);
  });
});

/** A way to the gateway that can be cut, or left open with nothing passing. */
async function cuttable(target: string) {
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createTcp((near) => {
    const far = connect(Number(new URL(target).port), "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on("data", (chunk) => {
        if (!frozen) other.write(chunk);
      });
      one.on("error", () => {});
      one.on("close", () => {
        sockets.delete(one);
        if (!frozen) other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  closing.push(() => {
    frozen = false;
    cut();
    server.close();
  });
  const address: AddressInfo | string | null = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    freeze: () => {
      frozen = true;
    },
  };
}
