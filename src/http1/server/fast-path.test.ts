import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { FastPath } from "./fast-path.ts";
import type { FastPathRequest } from "./fast-path-connection.ts";
import type { FastPathResponse } from "./fast-path-response.ts";

const HEADERS_MS = 60_000;
const IDLE_MS = 60_000;

type ServedRequest = { readonly request: FastPathRequest; readonly response: FastPathResponse };
type Scene = {
  readonly server: Server;
  readonly fastPath: FastPath;
  readonly served: ServedRequest[];
  /** Requests that Node's server parsed. */
  readonly byNode: string[];
  readonly timedOut: Socket[];
  readonly sockets: Socket[];
  queued: number;
};

const scenes: Scene[] = [];
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  for (const { server, sockets } of scenes.splice(0)) {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

async function openScene(
  serve: (served: ServedRequest) => void = echo,
  timeouts: { readonly headersMs?: number; readonly idleMs?: number } = {},
): Promise<Scene> {
  const byNode: string[] = [];
  const server = createServer((request, response) => {
    byNode.push(`${request.method} ${request.url}`);
    request.resume();
    request.on("end", () => response.end("by Node"));
  });
  const served: ServedRequest[] = [];
  const timedOut: Socket[] = [];
  const fastPath = new FastPath(server, {
    clock: { nowMs: () => Date.now() },
    timeouts: { headersMs: HEADERS_MS, idleMs: IDLE_MS, checkEveryMs: 60_000, ...timeouts },
    endToEndHeaders: new Set(),
    receiver: {
      receive: (request, response) => {
        served.push({ request, response });
        serve({ request, response });
      },
    },
    onHeadersTimeout: (socket) => {
      timedOut.push(socket);
      socket.destroy();
    },
    onSocketTimeout: (socket) => socket.destroy(),
    onRequestQueued: () => {
      scene.queued += 1;
    },
    onRequestDequeued: () => {
      scene.queued -= 1;
    },
  });
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  const scene: Scene = { server, fastPath, served, byNode, timedOut, sockets, queued: 0 };
  scenes.push(scene);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return scene;
}

function echo({ request, response }: ServedRequest): void {
  const body = `echo ${request.body}`;
  response.writeHead(200, { "content-length": String(body.length) });
  response.end(body);
}

class Client {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  text = "";

  constructor({ server }: Scene) {
    this.socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    clients.push(this.socket);
    this.socket.on("data", (part) => {
      this.text += part.toString();
    });
    this.socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => this.socket.on("close", () => resolve()));
  }

  post(body: string): void {
    this.socket.write(postRequest(body));
  }

  async receives(text: string): Promise<void> {
    while (!this.text.includes(text)) await sleep(2);
  }
}

const postRequest = (body: string) => `POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(2);
}

describe("the fast path", () => {
  test("serves consecutive requests on one connection without Node's server", async () => {
    const scene = await openScene();
    const client = new Client(scene);
    for (const body of ["one", "two", "three"]) {
      client.post(body);
      await client.receives(`echo ${body}`);
    }
    expect(scene.byNode).toEqual([]);
    expect(scene.served.map(({ request }) => [request.url, String(request.body)])).toEqual([
      ["/v1/x", "one"],
      ["/v1/x", "two"],
      ["/v1/x", "three"],
    ]);
    expect(scene.served.every(({ response }) => response.writableFinished && response.destroyed)).toBe(true);
    expect(scene.sockets).toHaveLength(1);
  });

  test.each([
    ["another method", "GET /other HTTP/1.1\r\nHost: a\r\n\r\n", "GET /other"],
    [
      "chunked transfer coding",
      "POST /other HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
      "POST /other",
    ],
  ])("hands the connection over to Node for %s, first or later, and for good", async (_, text, requestLine) => {
    const scene = await openScene();
    const [first, later] = [new Client(scene), new Client(scene)];
    first.socket.write(text);
    await first.receives("by Node");
    later.post("one");
    await later.receives("echo one");
    later.socket.write(text);
    await later.receives("by Node");
    later.post("two");
    await until(() => scene.byNode.length === 3);
    expect(scene.byNode).toEqual([requestLine, requestLine, "POST /v1/x"]);
    expect(scene.served).toHaveLength(1);
    later.socket.end();
    await later.closed;
  });

  test("Node parses a request that arrives in two segments, wherever it is split", async () => {
    const scene = await openScene();
    const text = postRequest("body");
    for (let cut = 1; cut < text.length; cut++) {
      const client = new Client(scene);
      client.socket.setNoDelay(true);
      client.socket.write(text.slice(0, cut));
      await until(() => (scene.sockets.at(-1)?.bytesRead ?? 0) === cut && scene.sockets.length === cut);
      client.socket.write(text.slice(cut));
      await client.receives("by Node");
    }
    expect(scene.served).toEqual([]);
  });

  test("pipelined requests are answered in order, by the fast path or by Node", async () => {
    const scene = await openScene(({ request, response }) => setTimeout(() => echo({ request, response }), 20));
    const client = new Client(scene);
    client.post("one");
    await until(() => scene.served.length === 1);
    client.post("two");
    await until(() => (scene.sockets[0]?.bytesRead ?? 0) === 2 * postRequest("two").length);
    client.socket.write("GET /three HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.receives("by Node");
    await until(() => client.text.split("HTTP/1.1 200").length === 4);
    const inOrder = [...client.text.matchAll(/echo (?:one|two)|by Node/g)].map(([text]) => text);
    // The second and third request may arrive in one segment, which Node parses.
    expect(inOrder).toEqual(["echo one", scene.served.length === 2 ? "echo two" : "by Node", "by Node"]);
    expect(scene.byNode.at(-1)).toBe("GET /three");
    await until(() => scene.queued === 0);
  });

  test("pipelined bytes are buffered up to a limit, and all of them are answered", async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const scene = await openScene((served) => void gate.then(() => echo(served)));
    const client = new Client(scene);
    client.post("one");
    await until(() => scene.served.length === 1);
    const ahead = postRequest("x".repeat(1_000));
    const count = 15_000;
    client.socket.write(ahead.repeat(count));
    const [socket] = scene.sockets;
    await until(() => socket?.isPaused() === true);
    expect(socket?.bytesRead).toBeLessThan(4_000_000);
    expect(scene.queued).toBe(1);
    go();
    await until(() => client.text.length > 0 && client.text.split("HTTP/1.1 200").length - 1 === count + 1);
  });

  test("OPS-01 pipelined requests on a closed connection no longer count as in flight", async () => {
    const scene = await openScene(() => undefined);
    const client = new Client(scene);
    client.post("one");
    await until(() => scene.served.length === 1);
    client.post("two");
    await until(() => scene.queued === 1);
    client.socket.destroy();
    await until(() => scene.queued === 0);
    expect(scene.served).toHaveLength(1);
  });

  test("LOG-01 a response whose client disconnects is closed and not finished", async () => {
    const closed: boolean[] = [];
    const scene = await openScene(({ response }) => {
      response.on("close", () => closed.push(response.writableFinished));
      response.writeHead(200, {});
      response.write("begun");
    });
    const [cut, ended] = [new Client(scene), new Client(scene)];
    cut.post("one");
    await cut.receives("begun");
    cut.socket.destroy();
    await until(() => closed.length === 1);
    ended.post("two");
    await ended.receives("begun");
    ended.socket.end();
    await until(() => closed.length === 2);
    expect(closed).toEqual([false, false]);
    expect(scene.served.map(({ response }) => response.writableFinished)).toEqual([false, false]);
    // Later writes are discarded without backpressure.
    for (const { response } of scene.served) expect(response.write("more")).toBe(true);
  });

  test("LOG-01 a response written right after the client half-closed is not finished", async () => {
    const closed: boolean[] = [];
    const scene = await openScene(({ request, response }) => {
      response.on("close", () => closed.push(response.writableFinished));
      // Runs right after the listener of the connection, which ends the socket.
      request.socket.once("end", () => echo({ request, response }));
    });
    const client = new Client(scene);
    client.post("one");
    await until(() => scene.served.length === 1);
    client.socket.end();
    await until(() => closed.length === 1);
    expect(closed).toEqual([false]);
  });

  test("a response to a slow reader waits for drain and is complete in the end", async () => {
    const piece = Buffer.alloc(256 * 1024, "x");
    let [waits, closed] = [0, 0];
    const scene = await openScene(({ response }) => {
      response.on("close", () => {
        closed += 1;
      });
      response.writeHead(200, {});
      let left = 64;
      const pour = () => {
        for (; left > 0; left--) {
          if (response.write(piece)) continue;
          left -= 1;
          waits += 1;
          return;
        }
        response.off("drain", pour);
        response.end("the end");
      };
      response.on("drain", pour);
      pour();
    });
    const client = new Client(scene);
    client.socket.pause();
    client.post("one");
    await until(() => waits > 0);
    expect(closed).toBe(0);
    client.socket.resume();
    await client.receives("the end\r\n0\r\n\r\n");
    await until(() => closed === 1);
    expect(client.text.replace(/[^x]/g, "").length).toBe(64 * piece.length);
    expect(scene.served[0]?.response.writableFinished).toBe(true);
  });

  test("OPS-01 a response with Connection: close closes the connection; pipelined requests are not served", async () => {
    const scene = await openScene(({ request, response }) => {
      response.shouldKeepAlive = false;
      setTimeout(() => echo({ request, response }), 20);
    });
    const client = new Client(scene);
    client.post("one");
    await until(() => scene.served.length === 1);
    client.post("two");
    await client.closed;
    expect(client.text).toContain("Connection: close");
    expect(scene.served).toHaveLength(1);
  });

  test("OPS-01 closeIdle closes used idle connections only, closeAll the others too", async () => {
    const scene = await openScene(({ request, response }) => {
      if (request.body.toString() === "idle") echo({ request, response });
    });
    const [fresh, idle, busy] = [new Client(scene), new Client(scene), new Client(scene)];
    idle.post("idle");
    await idle.receives("echo idle");
    busy.post("busy");
    await until(() => scene.served.length === 2 && scene.sockets.length === 3);
    scene.fastPath.closeIdle();
    await idle.closed;
    expect([fresh.socket.destroyed, busy.socket.destroyed]).toEqual([false, false]);
    scene.fastPath.closeAll();
    await Promise.all([fresh.closed, busy.closed]);
  });

  test("a connection that is idle beyond its keep-alive timeout is closed", async () => {
    const scene = await openScene(echo, { idleMs: 100 });
    const client = new Client(scene);
    client.post("one");
    await client.receives("echo one");
    await client.closed;
    expect(scene.timedOut).toEqual([]);
  });

  test("a connection without a request times out, and one with a running request does not", async () => {
    const scene = await openScene(() => undefined, { headersMs: 200, idleMs: 100 });
    const busy = new Client(scene);
    busy.post("one");
    await until(() => scene.served.length === 1);
    const fresh = new Client(scene);
    await fresh.closed;
    expect(scene.timedOut).toHaveLength(1);
    expect(busy.socket.destroyed).toBe(false);
  });

  test("idle checks continue after the server is closed and listens again", async () => {
    const scene = await openScene(echo, { idleMs: 100 });
    await new Promise((resolve) => scene.server.close(resolve));
    await new Promise<void>((resolve) => scene.server.listen(0, "127.0.0.1", resolve));
    const client = new Client(scene);
    client.post("one");
    await client.receives("echo one");
    await client.closed;
  });

  test("ERR-01 an empty line after a request is ignored", async () => {
    const scene = await openScene();
    const client = new Client(scene);
    client.post("one");
    await client.receives("echo one");
    client.socket.write("\r\n");
    await until(() => scene.sockets[0]?.bytesRead === postRequest("one").length + 2);
    client.post("two");
    await client.receives("echo two");
    expect(scene.byNode).toEqual([]);
  });

  test("ERR-01 destroying a complete response does not close the connection of the next one", async () => {
    const scene = await openScene(({ request, response }) => {
      if (String(request.body) === "one") return echo({ request, response });
      response.writeHead(200, {});
      response.write("begun");
    });
    const client = new Client(scene);
    client.post("one");
    await client.receives("echo one");
    client.post("two");
    await client.receives("begun");
    const [first, second] = scene.served;
    first?.response.destroy();
    second?.response.end("the end");
    await client.receives("the end\r\n0\r\n\r\n");
  });

  test.each(["reset", "closed"] as const)(
    "LOG-01 a response that was written but not read before its connection was %s is not finished",
    async (how) => {
      const closed: boolean[] = [];
      const scene = await openScene(({ response }) => {
        response.on("close", () => closed.push(response.writableFinished));
        response.writeHead(200, {});
        response.write(Buffer.alloc(8 * 1024 * 1024));
        response.end("the end");
      });
      const client = new Client(scene);
      client.socket.pause();
      client.post("one");
      await until(() => scene.served.length === 1);
      if (how === "reset") client.socket.resetAndDestroy();
      else client.socket.destroy();
      await until(() => closed.length === 1);
      expect(closed).toEqual([false]);
    },
  );

  test("LOG-01 a response that is written to a reset connection is not finished", async () => {
    const closed: boolean[] = [];
    const scene = await openScene(({ request, response }) => {
      response.on("close", () => closed.push(response.writableFinished));
      // The write fails at once, before the server gets the close event.
      client.socket.resetAndDestroy();
      echo({ request, response });
    });
    const client = new Client(scene);
    client.post("one");
    await until(() => closed.length === 1);
    expect(closed).toEqual([false]);
  });

  test("rejects a server that already has a connection listener", () => {
    const server = createServer();
    server.on("connection", () => undefined);
    const deps = {
      clock: { nowMs: () => 0 },
      timeouts: { headersMs: 1, idleMs: 1, checkEveryMs: 1 },
      endToEndHeaders: new Set<string>(),
      receiver: { receive: () => undefined },
      onHeadersTimeout: () => undefined,
      onSocketTimeout: () => undefined,
      onRequestQueued: () => undefined,
      onRequestDequeued: () => undefined,
    };
    expect(() => new FastPath(server, deps)).toThrow("one listener");
  });
});
