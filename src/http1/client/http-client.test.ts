import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { Readable } from "node:stream";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { captureTimers } from "../../../tests/support/captured-timers.ts";
import { type Script, startUpstream, type Upstream, unusedPort } from "../../../tests/support/upstream.ts";
import type { HttpClient, HttpClientLimits, HttpRequest, RequestFailure, ResponseBodyHandler } from "./contract.ts";
import { createHttpClient } from "./http-client.ts";

const LIMITS = { connections: 1, connectTimeoutMs: 15_000, firstByteTimeoutMs: 15_000, idleTimeoutMs: 15_000 };

async function startScene(limits: Partial<HttpClientLimits> = {}) {
  const upstream = await startUpstream();
  const client = createHttpClient({ ...LIMITS, ...limits });
  onTestFinished(async () => {
    await client.close();
    await upstream.close();
  });
  return { upstream, client };
}

const requestTo = ({ baseUrl }: Pick<Upstream, "baseUrl">): HttpRequest => ({
  url: `${baseUrl}/chat/completions`,
  headers: {},
  body: "{}",
});
const IGNORE: ResponseBodyHandler = { onData: () => "more", onEnd() {}, onFailure() {} };
const OK_RESPONSE = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

type Outcome = { status?: number; body: string; failure?: RequestFailure };

/** The outcome of a request with everything that was received. */
function sendRequest(client: HttpClient, request: HttpRequest): Promise<Outcome> {
  return new Promise((resolve) => {
    const outcome: Outcome = { body: "" };
    const onFailure = (failure: RequestFailure) => resolve({ ...outcome, failure });
    client.send(request, {
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

/** A bare TCP server. */
async function startTcpServer(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    onConnection(socket);
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

describe("queued requests", () => {
  test("CHAT-09 an aborted one fails at once and is never sent", async () => {
    const { upstream, client } = await startScene();
    const gate = Promise.withResolvers<void>();
    upstream.next({ json: {}, gate: gate.promise });
    const first = sendRequest(client, requestTo(upstream));
    await upstream.arrived(1);
    const failures: RequestFailure[] = [];
    const second = client.send(requestTo(upstream), {
      onHeaders: () => IGNORE,
      onFailure: (one) => failures.push(one),
    });
    second.abort();
    expect(failures).toMatchObject([{ kind: "aborted", sent: false }]);
    gate.resolve();
    expect(await first).toMatchObject({ status: 200 });
    expect(await sendRequest(client, requestTo(upstream))).toMatchObject({ status: 200 });
    expect(upstream.requests).toHaveLength(2);
    expect(failures).toHaveLength(1);
  });

  test("CHAT-09 an aborted one is not sent instead of the request that its handler sends", async () => {
    const { upstream, client } = await startScene({ connections: 2 });
    await sendRequest(client, requestTo(upstream));
    const instead = Promise.withResolvers<Outcome>();
    const onFailure = () => instead.resolve(sendRequest(client, { ...requestTo(upstream), body: "instead" }));
    const call = client.send({ ...requestTo(upstream), body: "aborted" }, { onHeaders: () => IGNORE, onFailure });
    call.abort();
    expect(await instead.promise).toMatchObject({ status: 200 });
    expect(await sendRequest(client, { ...requestTo(upstream), body: "last" })).toMatchObject({ status: 200 });
    expect(upstream.requests.map(({ raw }) => raw.toString())).toEqual(["{}", "instead", "last"]);
  });

  test("ROUTE-04 get connections in order, also when the previous connection is not reused", async () => {
    const { upstream, client } = await startScene();
    upstream.always({ json: {}, headers: { connection: "close" } });
    const bodies = ["1", "2", "3"];
    await Promise.all(bodies.map((body) => sendRequest(client, { ...requestTo(upstream), body })));
    expect(upstream.requests.map(({ raw }) => raw.toString())).toEqual(bodies);
    expect(upstream.connections()).toBe(3);
  });
});

describe("connections", () => {
  test("are reused, and never shared by two requests at once", async () => {
    const { upstream, client } = await startScene({ connections: 8 });
    for (let round = 0; round < 3; round += 1) await sendRequest(client, requestTo(upstream));
    expect(upstream.connections()).toBe(1);
    await Promise.all([sendRequest(client, requestTo(upstream)), sendRequest(client, requestTo(upstream))]);
    expect(upstream.connections()).toBe(2);
  });

  test.each([
    ["sends Connection: close", { headers: { connection: "close" } }],
    ["announces a very short keep-alive", { headers: { "keep-alive": "timeout=2" } }],
    ["delimits responses by closing", { framing: "close" as const }],
  ])("are not reused for a server that %s", async (_name, script) => {
    const { upstream, client } = await startScene();
    upstream.always({ json: {}, ...script });
    for (let round = 0; round < 3; round += 1)
      expect(await sendRequest(client, requestTo(upstream))).toMatchObject({ status: 200, body: "{}" });
    expect(upstream.connections()).toBe(3);
  });

  test("are not reused after the server closed them", async () => {
    const { upstream, client } = await startScene();
    await sendRequest(client, requestTo(upstream));
    await upstream.close();
    await sleep(100);
    const again = await startUpstream(undefined, upstream.port);
    onTestFinished(() => again.close());
    expect(await sendRequest(client, requestTo(again))).toMatchObject({ status: 200 });
  });

  test("BILL-10 are separate for each owner; release closes an owner's after their running requests", async () => {
    const { upstream, client } = await startScene({ connections: 8 });
    const owned = (owner: string) => ({ ...requestTo(upstream), owner });
    for (const request of [requestTo(upstream), owned("a"), owned("b")]) await sendRequest(client, request);
    expect(upstream.connections()).toBe(3);
    const gate = Promise.withResolvers<void>();
    upstream.next({ json: { whole: true }, gate: gate.promise });
    const running = sendRequest(client, owned("a"));
    await upstream.arrived(4);
    client.release("a");
    await sendRequest(client, owned("a"));
    expect(upstream.connections()).toBe(4);
    gate.resolve();
    expect(await running).toMatchObject({ status: 200, body: '{"whole":true}' });
  });

  test("OPS-05 close fails running, queued and later requests with kind stopped", async () => {
    const { upstream, client } = await startScene();
    upstream.next({ json: {}, gate: new Promise(() => undefined) });
    const calls = [sendRequest(client, requestTo(upstream)), sendRequest(client, requestTo(upstream))];
    await upstream.arrived(1);
    await client.close();
    const [running, waiting] = await Promise.all(calls);
    expect(running?.failure).toMatchObject({ kind: "stopped", sent: true });
    expect(waiting?.failure).toMatchObject({ kind: "stopped", sent: false });
    expect((await sendRequest(client, requestTo(upstream))).failure).toMatchObject({ kind: "stopped", sent: false });
  });
});

describe("failures", () => {
  test("ROUTE-04 a refused connection counts as not sent", async () => {
    const client = createHttpClient(LIMITS);
    onTestFinished(() => client.close());
    const outcome = await sendRequest(client, requestTo({ baseUrl: `http://127.0.0.1:${await unusedPort()}` }));
    expect(outcome.failure).toEqual({ kind: "connect", sent: false, why: "ECONNREFUSED" });
  });

  test("ROUTE-04 a TLS handshake that does not finish counts as not sent", async () => {
    const client = createHttpClient({ ...LIMITS, connectTimeoutMs: 100 });
    onTestFinished(() => client.close());
    const host = await startTcpServer(() => undefined);
    const outcome = await sendRequest(client, requestTo({ baseUrl: `https://${host}` }));
    expect(outcome.failure).toEqual({ kind: "timeout", sent: false, why: "HTTP_CONNECT_TIMEOUT" });
  });

  test.each<[string, Partial<HttpClientLimits>, Script, object]>([
    [
      "before its response",
      { firstByteTimeoutMs: 200 },
      { end: { is: "stall", after: "before_headers" } },
      { failure: { why: "HTTP_FIRST_BYTE_TIMEOUT" } },
    ],
    [
      "during its response",
      { idleTimeoutMs: 200 },
      { frames: ["begun", "never"], end: { is: "stall", after: 5 } },
      { status: 200, body: "begun", failure: { why: "HTTP_IDLE_TIMEOUT" } },
    ],
  ])("ERR-07 a server that is silent %s times out", async (_name, limits, script, expected) => {
    const { upstream, client } = await startScene(limits);
    upstream.next(script);
    const outcome = await sendRequest(client, requestTo(upstream));
    expect(outcome).toMatchObject(expected);
    expect(outcome.failure).toMatchObject({ kind: "timeout", sent: true });
  });

  test.each<[string, Script, string]>([
    ["before its response", { end: { is: "cut", after: "before_headers" } }, "HTTP_CUT_OFF"],
    ["during the response", { body: "hello", end: { is: "cut", after: 2 } }, "HTTP_CUT_OFF"],
    ["during the response with a reset", { body: "hello", end: { is: "cut", after: 2, how: "rst" } }, "ECONNRESET"],
    [
      "with a reset during a close-delimited response",
      { body: "hello", framing: "close", end: { is: "cut", after: 2, how: "rst" } },
      "ECONNRESET",
    ],
    ["with something that is not HTTP", { raw: "nonsense\r\n\r\n" }, "HTTP_BAD_ANSWER"],
  ])("ERR-07 a server that breaks off %s", async (_name, script, why) => {
    const { upstream, client } = await startScene();
    upstream.next(script);
    expect((await sendRequest(client, requestTo(upstream))).failure).toEqual({ kind: "broken", sent: true, why });
    expect(await sendRequest(client, requestTo(upstream))).toMatchObject({ status: 200 });
  });

  test("BILL-10 header injection fails before anything is sent, and after the caller has the handle", async () => {
    const { upstream, client } = await startScene();
    const request = { ...requestTo(upstream), headers: { authorization: "Bearer a\r\nx-b: c" } };
    expect((await sendRequest(client, request)).failure).toEqual({
      kind: "connect",
      sent: false,
      why: "HTTP_BAD_HEADER",
    });
    expect(upstream.requests).toEqual([]);
  });

  test("ERR-07 a handler that throws gets the failure", async () => {
    const { upstream, client } = await startScene();
    for (const event of ["onData", "onEnd"] as const) {
      const failure = await new Promise<RequestFailure>((resolve) => {
        const fails = () => {
          throw new RangeError("no");
        };
        const handler = { ...IGNORE, onFailure: resolve, [event]: fails };
        client.send(requestTo(upstream), { onHeaders: () => handler, onFailure: resolve });
      });
      expect(failure).toEqual({ kind: "broken", sent: true, why: "RangeError" });
    }
  });
});

describe("a paused handler", () => {
  test("CHAT-08 gets no events until it resumes, not even the end, and does not time out", async () => {
    const timers = captureTimers();
    const { upstream, client } = await startScene();
    upstream.next({ json: { a: 1 } });
    const events: string[] = [];
    const pauseAtFirstChunk = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const call = client.send(requestTo(upstream), {
      onFailure: ({ why }) => over.reject(new Error(why)),
      onHeaders: () => ({
        onData(chunk) {
          events.push(chunk.toString());
          pauseAtFirstChunk.resolve();
          return "pause";
        },
        onEnd() {
          events.push("end");
          over.resolve();
        },
        onFailure: ({ why }) => over.reject(new Error(why)),
      }),
    });
    await pauseAtFirstChunk.promise;
    expect(await upstream.requests[0]?.over).toBe("whole");
    await nextTurn();
    // The first check only notes that something was received before.
    for (let check = 0; check < 3; check += 1) timers.fire(LIMITS.idleTimeoutMs * 2);
    expect(events).toEqual(['{"a":1}']);
    call.resume();
    await over.promise;
    expect(events).toEqual(['{"a":1}', "end"]);
    expect(await sendRequest(client, requestTo(upstream))).toMatchObject({ status: 200 });
    expect(upstream.connections()).toBe(1);
  });

  test("CHAT-08 gets the complete response although the server disconnected meanwhile", async () => {
    const { upstream, client } = await startScene();
    upstream.next({ json: { a: 1 }, headers: { connection: "close" } });
    const pauseAtFirstChunk = Promise.withResolvers<void>();
    const over = Promise.withResolvers<string>();
    const call = client.send(requestTo(upstream), {
      onFailure: ({ why }) => over.resolve(why),
      onHeaders: () => ({
        onData() {
          pauseAtFirstChunk.resolve();
          return "pause";
        },
        onEnd: () => over.resolve("end"),
        onFailure: ({ why }) => over.resolve(why),
      }),
    });
    await pauseAtFirstChunk.promise;
    await upstream.close();
    await sleep(50);
    call.resume();
    expect(await over.promise).toBe("end");
  });
});

describe("connections whose handler resumes late", () => {
  /** Sends a request and pauses at the first chunk, which contains the whole response. */
  async function pauseAtFirstChunk(client: HttpClient, request: HttpRequest) {
    const events: string[] = [];
    const firstChunk = Promise.withResolvers<void>();
    const onFailure = ({ why }: RequestFailure) => void events.push(why);
    const call = client.send(request, {
      onFailure,
      onHeaders: () => ({
        onData(chunk) {
          events.push(chunk.toString());
          firstChunk.resolve();
          return "pause";
        },
        onEnd: () => void events.push("end"),
        onFailure,
      }),
    });
    await firstChunk.promise;
    return { call, events };
  }

  test.each<[string, (socket: Socket) => void]>([
    ["closed it", (socket) => socket.end()],
    ["reset it", (socket) => socket.resetAndDestroy()],
    ["sent unsolicited bytes", (socket) => socket.write(OK_RESPONSE.replace("ok", "no"))],
  ])("LOG-02 are not used for the queued request if the server has %s meanwhile", async (_name, then) => {
    const connections: Socket[] = [];
    const host = await startTcpServer((socket) => {
      connections.push(socket);
      socket.once("data", () => socket.write(OK_RESPONSE));
    });
    const client = createHttpClient(LIMITS);
    onTestFinished(() => client.close());
    const request = requestTo({ baseUrl: `http://${host}` });
    const { call, events } = await pauseAtFirstChunk(client, request);
    const next = sendRequest(client, request);
    connections.forEach(then);
    await sleep(100);
    call.resume();
    expect(events).toEqual(["ok", "end"]);
    expect(await next).toEqual({ status: 200, body: "ok" });
    expect(connections).toHaveLength(2);
  });

  test("CHAT-08 resuming a finished request does not resume the next one on its connection", async () => {
    let connections = 0;
    const host = await startTcpServer((socket) => {
      connections += 1;
      socket.on("data", () => socket.write(OK_RESPONSE));
    });
    const client = createHttpClient(LIMITS);
    onTestFinished(() => client.close());
    const request = requestTo({ baseUrl: `http://${host}` });
    const first = await pauseAtFirstChunk(client, request);
    first.call.resume();
    const second = await pauseAtFirstChunk(client, request);
    first.call.resume();
    expect([first.events, second.events]).toEqual([["ok", "end"], ["ok"]]);
    second.call.resume();
    expect(second.events).toEqual(["ok", "end"]);
    expect(connections).toBe(1);
  });
});

describe("a streamed body", () => {
  const upload = (bytes: number, pieces: readonly string[]) => ({
    bytes,
    open: () => Readable.from(pieces, { objectMode: false }),
  });

  test("STT-01 is sent with its length in chunks, and its connection is reused", async () => {
    const { upstream, client } = await startScene();
    const pieces = Array.from({ length: 200 }, (_, index) => String(index % 10).repeat(10_000));
    const body = upload(2_000_000, pieces);
    expect(await sendRequest(client, { ...requestTo(upstream), body })).toMatchObject({ status: 200 });
    expect(upstream.requests[0]?.headers).toMatchObject({ "content-length": "2000000" });
    expect(upstream.requests[0]?.raw.equals(Buffer.from(pieces.join("")))).toBe(true);
    await sendRequest(client, requestTo(upstream));
    expect(upstream.connections()).toBe(1);
  });

  test.each([
    ["longer", 4],
    ["shorter", 6],
  ])("BILL-10 that is %s than declared fails and closes its connection", async (_name, bytes) => {
    const { upstream, client } = await startScene();
    const request = { ...requestTo(upstream), body: upload(bytes, ["12345"]) };
    expect((await sendRequest(client, request)).failure).toEqual({
      kind: "broken",
      sent: true,
      why: "HTTP_BAD_UPLOAD",
    });
    expect(await sendRequest(client, requestTo(upstream))).toMatchObject({ status: 200 });
    expect(upstream.connections()).toBe(2);
  });

  test("ERR-07 that fails midway fails the request", async () => {
    const { upstream, client } = await startScene();
    const broken = () =>
      new Readable({
        read() {
          this.destroy(new Error("the file is gone"));
        },
      });
    const request = { ...requestTo(upstream), body: { bytes: 5, open: broken } };
    expect((await sendRequest(client, request)).failure).toEqual({
      kind: "broken",
      sent: true,
      why: "HTTP_BAD_UPLOAD",
    });
  });

  test("ERR-07 that cannot be opened fails its request and no other", async () => {
    const { upstream, client } = await startScene();
    const open = () => {
      throw new RangeError("no such file");
    };
    const request = { ...requestTo(upstream), body: { bytes: 5, open } };
    const calls = [sendRequest(client, request), sendRequest(client, requestTo(upstream))];
    expect(await Promise.all(calls)).toMatchObject([
      { failure: { kind: "broken", sent: true, why: "RangeError" } },
      { status: 200 },
    ]);
  });

  test("that never ends is destroyed once it exceeds its declared length", async () => {
    const { upstream, client } = await startScene();
    const endless = new Readable({ read() {} });
    endless.push("12345");
    const request = { ...requestTo(upstream), body: { bytes: 4, open: () => endless } };
    expect((await sendRequest(client, request)).failure).toMatchObject({ why: "HTTP_BAD_UPLOAD" });
    expect(endless.destroyed).toBe(true);
  });

  test("ERR-07 of text that the server does not read: the response arrives, and the connection is not reused", async () => {
    const host = await startTcpServer((socket) => {
      socket.once("data", () => {
        socket.pause();
        socket.write(OK_RESPONSE);
      });
    });
    const client = createHttpClient(LIMITS);
    onTestFinished(() => client.close());
    const request = requestTo({ baseUrl: `http://${host}` });
    const body = "more than the system keeps for a connection".repeat(500_000);
    expect(await sendRequest(client, { ...request, body })).toEqual({ status: 200, body: "ok" });
    expect(await sendRequest(client, request)).toEqual({ status: 200, body: "ok" });
  });

  test("ERR-07 answered before its end: the rest is not sent, and the connection is not reused", async () => {
    let connections = 0;
    const host = await startTcpServer((socket) => {
      connections += 1;
      socket.once("data", () => socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"));
    });
    const client = createHttpClient(LIMITS);
    onTestFinished(() => client.close());
    const endless = new Readable({ read() {} });
    endless.push("begun");
    const request = requestTo({ baseUrl: `http://${host}` });
    expect(await sendRequest(client, { ...request, body: { bytes: 1_000, open: () => endless } })).toEqual({
      status: 413,
      body: "no",
    });
    expect(endless.destroyed).toBe(true);
    expect(await sendRequest(client, request)).toMatchObject({ status: 413 });
    expect(connections).toBe(2);
  });
});
