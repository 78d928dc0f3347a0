import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Script, startUpstream, type Upstream, unusedPort } from "../../../tests/support/upstream.ts";
import type { Transport, UpstreamBodyHandler, UpstreamFailure, UpstreamRequest } from "../../io/upstream/transport.ts";
import { createHttpClient, type HttpClientLimits } from "./http-client.ts";

const LIMITS = { connections: 1, connectTimeoutMs: 15_000, firstByteTimeoutMs: 15_000, idleTimeoutMs: 15_000 };

async function scene(limits: Partial<HttpClientLimits> = {}) {
  const upstream = await startUpstream();
  const transport = createHttpClient({ ...LIMITS, ...limits });
  onTestFinished(async () => {
    await transport.close();
    await upstream.close();
  });
  return { upstream, transport };
}

const requestTo = ({ baseUrl }: Pick<Upstream, "baseUrl">): UpstreamRequest => ({
  url: `${baseUrl}/chat/completions`,
  headers: {},
  body: "{}",
});
const IGNORE: UpstreamBodyHandler = { onData: () => "more", onEnd() {}, onFailure() {} };
const WHOLE = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

type Outcome = { status?: number; body: string; failure?: UpstreamFailure };

/** How a call ends, with what came of its answer. */
function ask(transport: Transport, request: UpstreamRequest): Promise<Outcome> {
  return new Promise((resolve) => {
    const outcome: Outcome = { body: "" };
    const onFailure = (failure: UpstreamFailure) => resolve({ ...outcome, failure });
    transport.send(request, {
      onFailure,
      onHeaders(status) {
        outcome.status = status;
        return {
          onData(chunk) {
            outcome.body += chunk.toString();
            return "more";
          },
          onEnd: () => resolve(outcome),
          onFailure,
        };
      },
    });
  });
}

/** Something that listens and is no HTTP server. */
async function listener(met: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    met(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

describe("calls that wait for a connection", () => {
  test("CHAT-09 one that is aborted is over at once, and is never sent", async () => {
    const { upstream, transport } = await scene();
    const gate = Promise.withResolvers<void>();
    upstream.next({ json: {}, gate: gate.promise });
    const first = ask(transport, requestTo(upstream));
    await upstream.arrived(1);
    const failures: UpstreamFailure[] = [];
    const second = transport.send(requestTo(upstream), {
      onHeaders: () => IGNORE,
      onFailure: (one) => failures.push(one),
    });
    second.abort();
    expect(failures).toMatchObject([{ kind: "aborted", sent: false }]);
    gate.resolve();
    expect(await first).toMatchObject({ status: 200 });
    expect(await ask(transport, requestTo(upstream))).toMatchObject({ status: 200 });
    expect(upstream.requests).toHaveLength(2);
    expect(failures).toHaveLength(1);
  });

  test("CHAT-09 one that is aborted is not sent in the place of what its sender asks instead", async () => {
    const { upstream, transport } = await scene({ connections: 2 });
    await ask(transport, requestTo(upstream));
    const instead = Promise.withResolvers<Outcome>();
    const onFailure = () => instead.resolve(ask(transport, { ...requestTo(upstream), body: "instead" }));
    const call = transport.send({ ...requestTo(upstream), body: "aborted" }, { onHeaders: () => IGNORE, onFailure });
    call.abort();
    expect(await instead.promise).toMatchObject({ status: 200 });
    expect(await ask(transport, { ...requestTo(upstream), body: "last" })).toMatchObject({ status: 200 });
    expect(upstream.requests.map(({ raw }) => raw.toString())).toEqual(["{}", "instead", "last"]);
  });

  test("ROUTE-04 they get one in the order they came, also where the one before them is not kept", async () => {
    const { upstream, transport } = await scene();
    upstream.always({ json: {}, headers: { connection: "close" } });
    const bodies = ["1", "2", "3"];
    await Promise.all(bodies.map((body) => ask(transport, { ...requestTo(upstream), body })));
    expect(upstream.requests.map(({ raw }) => raw.toString())).toEqual(bodies);
    expect(upstream.connections()).toBe(3);
  });
});

describe("connections", () => {
  test("one is used again and again, and never by two calls at once", async () => {
    const { upstream, transport } = await scene({ connections: 8 });
    for (let round = 0; round < 3; round += 1) await ask(transport, requestTo(upstream));
    expect(upstream.connections()).toBe(1);
    await Promise.all([ask(transport, requestTo(upstream)), ask(transport, requestTo(upstream))]);
    expect(upstream.connections()).toBe(2);
  });

  test.each([
    ["says that it closes", { headers: { connection: "close" } }],
    ["says that it waits for less than a request takes to come", { headers: { "keep-alive": "timeout=2" } }],
    ["ends its answers by closing", { framing: "close" as const }],
  ])("one to a server that %s is not used again", async (_name, script) => {
    const { upstream, transport } = await scene();
    upstream.always({ json: {}, ...script });
    for (let round = 0; round < 3; round += 1)
      expect(await ask(transport, requestTo(upstream))).toMatchObject({ status: 200, body: "{}" });
    expect(upstream.connections()).toBe(3);
  });

  test("one that the server closed meanwhile is not used again", async () => {
    const { upstream, transport } = await scene();
    await ask(transport, requestTo(upstream));
    await upstream.close();
    await sleep(100);
    const again = await startUpstream(undefined, upstream.port);
    onTestFinished(() => again.close());
    expect(await ask(transport, requestTo(again))).toMatchObject({ status: 200 });
  });

  test("BILL-10 owners share none with each other or with the operator; a released one's are closed, what runs on them finishes", async () => {
    const { upstream, transport } = await scene({ connections: 8 });
    const owned = (owner: string) => ({ ...requestTo(upstream), owner });
    for (const request of [requestTo(upstream), owned("a"), owned("b")]) await ask(transport, request);
    expect(upstream.connections()).toBe(3);
    const gate = Promise.withResolvers<void>();
    upstream.next({ json: { whole: true }, gate: gate.promise });
    const running = ask(transport, owned("a"));
    await upstream.arrived(4);
    transport.release("a");
    await ask(transport, owned("a"));
    expect(upstream.connections()).toBe(4);
    gate.resolve();
    expect(await running).toMatchObject({ status: 200, body: '{"whole":true}' });
  });

  test("OPS-05 when the gateway stops, what runs, waits or comes later is told so", async () => {
    const { upstream, transport } = await scene();
    upstream.next({ json: {}, gate: new Promise(() => undefined) });
    const calls = [ask(transport, requestTo(upstream)), ask(transport, requestTo(upstream))];
    await upstream.arrived(1);
    await transport.close();
    const [running, waiting] = await Promise.all(calls);
    expect(running?.failure).toMatchObject({ kind: "stopped", sent: true });
    expect(waiting?.failure).toMatchObject({ kind: "stopped", sent: false });
    expect((await ask(transport, requestTo(upstream))).failure).toMatchObject({ kind: "stopped", sent: false });
  });
});

describe("what fails", () => {
  test("ROUTE-04 a port where nobody listens: nothing was sent", async () => {
    const transport = createHttpClient(LIMITS);
    onTestFinished(() => transport.close());
    const outcome = await ask(transport, requestTo({ baseUrl: `http://127.0.0.1:${await unusedPort()}` }));
    expect(outcome.failure).toEqual({ kind: "connect", sent: false, why: "ECONNREFUSED" });
  });

  test("ROUTE-04 a server that never finishes its greeting: nothing was sent", async () => {
    const transport = createHttpClient({ ...LIMITS, connectTimeoutMs: 100 });
    onTestFinished(() => transport.close());
    const place = await listener(() => undefined);
    const outcome = await ask(transport, requestTo({ baseUrl: `https://${place}` }));
    expect(outcome.failure).toEqual({ kind: "timeout", sent: false, why: "HTTP_CONNECT_TIMEOUT" });
  });

  test.each<[string, Partial<HttpClientLimits>, Script, object]>([
    [
      "before its answer",
      { firstByteTimeoutMs: 200 },
      { end: { is: "stall", after: "before_headers" } },
      { failure: { why: "HTTP_FIRST_BYTE_TIMEOUT" } },
    ],
    [
      "inside it",
      { idleTimeoutMs: 200 },
      { frames: ["begun", "never"], end: { is: "stall", after: 5 } },
      { status: 200, body: "begun", failure: { why: "HTTP_IDLE_TIMEOUT" } },
    ],
  ])("ERR-07 a provider that is silent %s is not waited for", async (_name, limits, script, expected) => {
    const { upstream, transport } = await scene(limits);
    upstream.next(script);
    const outcome = await ask(transport, requestTo(upstream));
    expect(outcome).toMatchObject(expected);
    expect(outcome.failure).toMatchObject({ kind: "timeout", sent: true });
  });

  test.each<[string, Script, string]>([
    ["before its answer", { end: { is: "cut", after: "before_headers" } }, "HTTP_CUT_OFF"],
    ["in the middle", { body: "hello", end: { is: "cut", after: 2 } }, "HTTP_CUT_OFF"],
    ["in the middle by a reset", { body: "hello", end: { is: "cut", after: 2, how: "rst" } }, "ECONNRESET"],
    [
      "by a reset where only its closing would end the answer",
      { body: "hello", framing: "close", end: { is: "cut", after: 2, how: "rst" } },
      "ECONNRESET",
    ],
    ["and is no HTTP", { raw: "nonsense\r\n\r\n" }, "HTTP_BAD_ANSWER"],
  ])("ERR-07 a provider that breaks off %s", async (_name, script, why) => {
    const { upstream, transport } = await scene();
    upstream.next(script);
    expect((await ask(transport, requestTo(upstream))).failure).toEqual({ kind: "broken", sent: true, why });
    expect(await ask(transport, requestTo(upstream))).toMatchObject({ status: 200 });
  });

  test("BILL-10 a header that would be two is not sent, and its sender holds the call before it hears of it", async () => {
    const { upstream, transport } = await scene();
    const request = { ...requestTo(upstream), headers: { authorization: "Bearer a\r\nx-b: c" } };
    expect((await ask(transport, request)).failure).toEqual({ kind: "connect", sent: false, why: "HTTP_BAD_HEADER" });
    expect(upstream.requests).toEqual([]);
  });

  test("ERR-07 a reader that throws hears that the answer broke", async () => {
    const { upstream, transport } = await scene();
    for (const at of ["data", "end"] as const) {
      const failure = await new Promise<UpstreamFailure>((resolve) => {
        const fails = () => {
          throw new RangeError("no");
        };
        const reader = { ...IGNORE, failed: resolve, [at]: fails };
        transport.send(requestTo(upstream), { onHeaders: () => reader, onFailure: resolve });
      });
      expect(failure).toEqual({ kind: "broken", sent: true, why: "RangeError" });
    }
  });
});

describe("a reader that pauses", () => {
  test("CHAT-08 hears nothing until it goes on, not even the end, and is not taken for a silent provider", async () => {
    const { upstream, transport } = await scene({ idleTimeoutMs: 100, firstByteTimeoutMs: 5_000 });
    upstream.next({ json: { a: 1 } });
    const heard: string[] = [];
    const paused = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const call = transport.send(requestTo(upstream), {
      onFailure: ({ why }) => over.reject(new Error(why)),
      onHeaders: () => ({
        onData(chunk) {
          heard.push(chunk.toString());
          paused.resolve();
          return "pause";
        },
        onEnd() {
          heard.push("end");
          over.resolve();
        },
        onFailure: ({ why }) => over.reject(new Error(why)),
      }),
    });
    await paused.promise;
    // Longer than a provider may be silent.
    await sleep(400);
    expect(heard).toEqual(['{"a":1}']);
    call.resume();
    await over.promise;
    expect(heard).toEqual(['{"a":1}', "end"]);
    expect(await ask(transport, requestTo(upstream))).toMatchObject({ status: 200 });
    expect(upstream.connections()).toBe(1);
  });

  test("CHAT-08 hears an answer to its end though its provider has left meanwhile", async () => {
    const { upstream, transport } = await scene();
    upstream.next({ json: { a: 1 }, headers: { connection: "close" } });
    const paused = Promise.withResolvers<void>();
    const over = Promise.withResolvers<string>();
    const call = transport.send(requestTo(upstream), {
      onFailure: ({ why }) => over.resolve(why),
      onHeaders: () => ({
        onData() {
          paused.resolve();
          return "pause";
        },
        onEnd: () => over.resolve("end"),
        onFailure: ({ why }) => over.resolve(why),
      }),
    });
    await paused.promise;
    await upstream.close();
    await sleep(50);
    call.resume();
    expect(await over.promise).toBe("end");
  });
});

describe("connections whose reader goes on late", () => {
  /** Asks, and pauses at the first piece, which comes with all that there is of the answer. */
  async function paused(transport: Transport, request: UpstreamRequest) {
    const heard: string[] = [];
    const begun = Promise.withResolvers<void>();
    const onFailure = ({ why }: UpstreamFailure) => void heard.push(why);
    const call = transport.send(request, {
      onFailure,
      onHeaders: () => ({
        onData(chunk) {
          heard.push(chunk.toString());
          begun.resolve();
          return "pause";
        },
        onEnd: () => void heard.push("end"),
        onFailure,
      }),
    });
    await begun.promise;
    return { call, heard };
  }

  test.each<[string, (socket: Socket) => void]>([
    ["closed it without a word", (socket) => socket.end()],
    ["reset it", (socket) => socket.resetAndDestroy()],
    ["sent more than it was asked for", (socket) => socket.write(WHOLE.replace("ok", "no"))],
  ])("LOG-02 one whose server has %s meanwhile is not used for the call that waits", async (_name, then) => {
    const met: Socket[] = [];
    const place = await listener((socket) => {
      met.push(socket);
      socket.once("data", () => socket.write(WHOLE));
    });
    const transport = createHttpClient(LIMITS);
    onTestFinished(() => transport.close());
    const request = requestTo({ baseUrl: `http://${place}` });
    const { call, heard } = await paused(transport, request);
    const next = ask(transport, request);
    met.forEach(then);
    await sleep(100);
    call.resume();
    expect(heard).toEqual(["ok", "end"]);
    expect(await next).toEqual({ status: 200, body: "ok" });
    expect(met).toHaveLength(2);
  });

  test("CHAT-08 a call that is over does not let the next one on its connection go on", async () => {
    let met = 0;
    const place = await listener((socket) => {
      met += 1;
      socket.on("data", () => socket.write(WHOLE));
    });
    const transport = createHttpClient(LIMITS);
    onTestFinished(() => transport.close());
    const request = requestTo({ baseUrl: `http://${place}` });
    const first = await paused(transport, request);
    first.call.resume();
    const second = await paused(transport, request);
    first.call.resume();
    expect([first.heard, second.heard]).toEqual([["ok", "end"], ["ok"]]);
    second.call.resume();
    expect(second.heard).toEqual(["ok", "end"]);
    expect(met).toBe(1);
  });
});

describe("an upload", () => {
  const upload = (bytes: number, pieces: readonly string[]) => ({
    bytes,
    open: () => Readable.from(pieces, { objectMode: false }),
  });

  test("STT-01 is sent with its length, piece by piece, and its connection is used again", async () => {
    const { upstream, transport } = await scene();
    const pieces = Array.from({ length: 200 }, (_, index) => String(index % 10).repeat(10_000));
    const body = upload(2_000_000, pieces);
    expect(await ask(transport, { ...requestTo(upstream), body })).toMatchObject({ status: 200 });
    expect(upstream.requests[0]?.headers).toMatchObject({ "content-length": "2000000" });
    expect(upstream.requests[0]?.raw.equals(Buffer.from(pieces.join("")))).toBe(true);
    await ask(transport, requestTo(upstream));
    expect(upstream.connections()).toBe(1);
  });

  test.each([
    ["longer", 4],
    ["shorter", 6],
  ])("BILL-10 one that is %s than it said is cut off: nothing of it is another request", async (_name, bytes) => {
    const { upstream, transport } = await scene();
    const request = { ...requestTo(upstream), body: upload(bytes, ["12345"]) };
    expect((await ask(transport, request)).failure).toEqual({ kind: "broken", sent: true, why: "HTTP_BAD_UPLOAD" });
    expect(await ask(transport, requestTo(upstream))).toMatchObject({ status: 200 });
    expect(upstream.connections()).toBe(2);
  });

  test("ERR-07 one that breaks on its way is not waited for", async () => {
    const { upstream, transport } = await scene();
    const broken = () =>
      new Readable({
        read() {
          this.destroy(new Error("the file is gone"));
        },
      });
    const request = { ...requestTo(upstream), body: { bytes: 5, open: broken } };
    expect((await ask(transport, request)).failure).toEqual({ kind: "broken", sent: true, why: "HTTP_BAD_UPLOAD" });
  });

  test("ERR-07 one that cannot be opened is not waited for, and harms no other call", async () => {
    const { upstream, transport } = await scene();
    const open = () => {
      throw new RangeError("no such file");
    };
    const request = { ...requestTo(upstream), body: { bytes: 5, open } };
    const calls = [ask(transport, request), ask(transport, requestTo(upstream))];
    expect(await Promise.all(calls)).toMatchObject([
      { failure: { kind: "broken", sent: true, why: "RangeError" } },
      { status: 200 },
    ]);
  });

  test("one that does not end is left when it has said more than it was to say", async () => {
    const { upstream, transport } = await scene();
    const endless = new Readable({ read() {} });
    endless.push("12345");
    const request = { ...requestTo(upstream), body: { bytes: 4, open: () => endless } };
    expect((await ask(transport, request)).failure).toMatchObject({ why: "HTTP_BAD_UPLOAD" });
    expect(endless.destroyed).toBe(true);
  });

  test("ERR-07 a text that nobody reads to its end: its answer is heard, and the next call is not sent behind it", async () => {
    const place = await listener((socket) => {
      socket.once("data", () => {
        socket.pause();
        socket.write(WHOLE);
      });
    });
    const transport = createHttpClient(LIMITS);
    onTestFinished(() => transport.close());
    const request = requestTo({ baseUrl: `http://${place}` });
    const body = "more than the system keeps for a connection".repeat(500_000);
    expect(await ask(transport, { ...request, body })).toEqual({ status: 200, body: "ok" });
    expect(await ask(transport, request)).toEqual({ status: 200, body: "ok" });
  });

  test("ERR-07 an answer before its end is heard, the rest is not sent, and the connection is not used again", async () => {
    let met = 0;
    const place = await listener((socket) => {
      met += 1;
      socket.once("data", () => socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"));
    });
    const transport = createHttpClient(LIMITS);
    onTestFinished(() => transport.close());
    const endless = new Readable({ read() {} });
    endless.push("begun");
    const request = requestTo({ baseUrl: `http://${place}` });
    expect(await ask(transport, { ...request, body: { bytes: 1_000, open: () => endless } })).toEqual({
      status: 413,
      body: "no",
    });
    expect(endless.destroyed).toBe(true);
    expect(await ask(transport, request)).toMatchObject({ status: 413 });
    expect(met).toBe(2);
  });
});
