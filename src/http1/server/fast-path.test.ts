import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { FastPath } from "./fast-path.ts";
import type { FastPathRequest } from "./fast-path-request.ts";
import type { FastPathResponse } from "./fast-path-response.ts";

const HEADERS_MS = 60_000;
const IDLE_MS = 60_000;

type Served = { readonly request: FastPathRequest; readonly answer: FastPathResponse };
type Room = {
  readonly server: Server;
  readonly lane: FastPath;
  readonly served: Served[];
  /** What Node's server was asked. */
  readonly byNode: string[];
  readonly silent: Socket[];
  readonly sockets: Socket[];
  /** Requests that were sent ahead. */
  waiting: number;
};

const rooms: Room[] = [];
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  for (const { server, sockets } of rooms.splice(0)) {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

async function openRoom(
  serve: (served: Served) => void = whole,
  patience: { readonly headersMs?: number; readonly idleMs?: number } = {},
): Promise<Room> {
  const byNode: string[] = [];
  const server = createServer((request, response) => {
    byNode.push(`${request.method} ${request.url}`);
    request.resume();
    request.on("end", () => response.end("by Node"));
  });
  const served: Served[] = [];
  const silent: Socket[] = [];
  const lane = new FastPath(server, {
    clock: { nowMs: () => Date.now() },
    timeouts: { headersMs: HEADERS_MS, idleMs: IDLE_MS, checkEveryMs: 60_000, ...patience },
    onRequest: (request, answer) => {
      served.push({ request, answer });
      serve({ request, answer });
    },
    onHeadersTimeout: (socket) => {
      silent.push(socket);
      socket.destroy();
    },
    onSocketTimeout: (socket) => socket.destroy(),
    onRequestQueued: () => {
      room.waiting += 1;
    },
    onRequestDequeued: () => {
      room.waiting -= 1;
    },
  });
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  const room: Room = { server, lane, served, byNode, silent, sockets, waiting: 0 };
  rooms.push(room);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return room;
}

function whole({ request, answer }: Served): void {
  const body = `lane ${request.body}`;
  answer.writeHead(200, { "content-length": String(body.length) });
  answer.end(body);
}

class Client {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  text = "";

  constructor({ server }: Room) {
    this.socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    clients.push(this.socket);
    this.socket.on("data", (part) => {
      this.text += part.toString();
    });
    this.socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => this.socket.on("close", () => resolve()));
  }

  post(body: string): void {
    this.socket.write(posted(body));
  }

  async hears(what: string): Promise<void> {
    while (!this.text.includes(what)) await sleep(2);
  }
}

const posted = (body: string) => `POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(2);
}

describe("the short way in", () => {
  test("serves one plain request after the other on a connection, and leaves nothing to Node", async () => {
    const room = await openRoom();
    const client = new Client(room);
    for (const body of ["one", "two", "three"]) {
      client.post(body);
      await client.hears(`lane ${body}`);
    }
    expect(room.byNode).toEqual([]);
    expect(room.served.map(({ request }) => [request.url, String(request.body)])).toEqual([
      ["/v1/x", "one"],
      ["/v1/x", "two"],
      ["/v1/x", "three"],
    ]);
    expect(room.served.every(({ answer }) => answer.writableFinished && answer.destroyed)).toBe(true);
    expect(room.sockets).toHaveLength(1);
  });

  test.each([
    ["another method", "GET /other HTTP/1.1\r\nHost: a\r\n\r\n", "GET /other"],
    [
      "chunks",
      "POST /other HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
      "POST /other",
    ],
  ])("goes over to Node with %s, first or later, and stays there", async (_, text, asked) => {
    const room = await openRoom();
    const [first, later] = [new Client(room), new Client(room)];
    first.socket.write(text);
    await first.hears("by Node");
    later.post("one");
    await later.hears("lane one");
    later.socket.write(text);
    await later.hears("by Node");
    later.post("two");
    await until(() => room.byNode.length === 3);
    expect(room.byNode).toEqual([asked, asked, "POST /v1/x"]);
    expect(room.served).toHaveLength(1);
    later.socket.end();
    await later.closed;
  });

  test("a request in two pieces is read by Node, wherever it is cut", async () => {
    const room = await openRoom();
    const text = posted("body");
    for (let cut = 1; cut < text.length; cut++) {
      const client = new Client(room);
      client.socket.setNoDelay(true);
      client.socket.write(text.slice(0, cut));
      await until(() => (room.sockets.at(-1)?.bytesRead ?? 0) === cut && room.sockets.length === cut);
      client.socket.write(text.slice(cut));
      await client.hears("by Node");
    }
    expect(room.served).toEqual([]);
  });

  test("what is sent ahead is answered in its order, by whoever can read it", async () => {
    const room = await openRoom(({ request, answer }) => setTimeout(() => whole({ request, answer }), 20));
    const client = new Client(room);
    client.post("one");
    await until(() => room.served.length === 1);
    client.post("two");
    await until(() => (room.sockets[0]?.bytesRead ?? 0) === 2 * posted("two").length);
    client.socket.write("GET /three HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.hears("by Node");
    await until(() => client.text.split("HTTP/1.1 200").length === 4);
    const inOrder = [...client.text.matchAll(/lane (?:one|two)|by Node/g)].map(([said]) => said);
    // The second and the third may have come together, which is nothing plain.
    expect(inOrder).toEqual(["lane one", room.served.length === 2 ? "lane two" : "by Node", "by Node"]);
    expect(room.byNode.at(-1)).toBe("GET /three");
    await until(() => room.waiting === 0);
  });

  test("of what is sent ahead only so much is read, and all of it answered", async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const room = await openRoom((served) => void gate.then(() => whole(served)));
    const client = new Client(room);
    client.post("one");
    await until(() => room.served.length === 1);
    const ahead = posted("x".repeat(1_000));
    const count = 15_000;
    client.socket.write(ahead.repeat(count));
    const [socket] = room.sockets;
    await until(() => socket?.isPaused() === true);
    expect(socket?.bytesRead).toBeLessThan(4_000_000);
    expect(room.waiting).toBe(1);
    go();
    await until(() => client.text.length > 0 && client.text.split("HTTP/1.1 200").length - 1 === count + 1);
  });

  test("OPS-01 what was sent ahead on a connection that is gone is not waited for", async () => {
    const room = await openRoom(() => undefined);
    const client = new Client(room);
    client.post("one");
    await until(() => room.served.length === 1);
    client.post("two");
    await until(() => room.waiting === 1);
    client.socket.destroy();
    await until(() => room.waiting === 0);
    expect(room.served).toHaveLength(1);
  });

  test("LOG-01 an answer whose client leaves is closed and not finished", async () => {
    const closed: boolean[] = [];
    const room = await openRoom(({ answer }) => {
      answer.on("close", () => closed.push(answer.writableFinished));
      answer.writeHead(200, {});
      answer.write("begun");
    });
    const [cut, ended] = [new Client(room), new Client(room)];
    cut.post("one");
    await cut.hears("begun");
    cut.socket.destroy();
    await until(() => closed.length === 1);
    ended.post("two");
    await ended.hears("begun");
    ended.socket.end();
    await until(() => closed.length === 2);
    expect(closed).toEqual([false, false]);
    expect(room.served.map(({ answer }) => answer.writableFinished)).toEqual([false, false]);
    // Nobody takes what comes later.
    for (const { answer } of room.served) expect(answer.write("more")).toBe(true);
  });

  test("LOG-01 an answer that comes when its client has just ended its side is not taken for a finished one", async () => {
    const closed: boolean[] = [];
    const room = await openRoom(({ request, answer }) => {
      answer.on("close", () => closed.push(answer.writableFinished));
      // Right behind the lane's own listener, which ends the other side.
      request.socket.once("end", () => whole({ request, answer }));
    });
    const client = new Client(room);
    client.post("one");
    await until(() => room.served.length === 1);
    client.socket.end();
    await until(() => closed.length === 1);
    expect(closed).toEqual([false]);
  });

  test("an answer that its client does not take waits, and is whole in the end", async () => {
    const piece = Buffer.alloc(256 * 1024, "x");
    let [waits, closed] = [0, 0];
    const room = await openRoom(({ answer }) => {
      answer.on("close", () => {
        closed += 1;
      });
      answer.writeHead(200, {});
      let left = 64;
      const pour = () => {
        for (; left > 0; left--) {
          if (answer.write(piece)) continue;
          left -= 1;
          waits += 1;
          return;
        }
        answer.off("drain", pour);
        answer.end("the end");
      };
      answer.on("drain", pour);
      pour();
    });
    const client = new Client(room);
    client.socket.pause();
    client.post("one");
    await until(() => waits > 0);
    expect(closed).toBe(0);
    client.socket.resume();
    await client.hears("the end\r\n0\r\n\r\n");
    await until(() => closed === 1);
    expect(client.text.replace(/[^x]/g, "").length).toBe(64 * piece.length);
    expect(room.served[0]?.answer.writableFinished).toBe(true);
  });

  test("OPS-01 an answer that says so ends its connection, and nothing behind it is served", async () => {
    const room = await openRoom(({ request, answer }) => {
      answer.shouldKeepAlive = false;
      setTimeout(() => whole({ request, answer }), 20);
    });
    const client = new Client(room);
    client.post("one");
    await until(() => room.served.length === 1);
    client.post("two");
    await client.closed;
    expect(client.text).toContain("Connection: close");
    expect(room.served).toHaveLength(1);
  });

  test("OPS-01 connections that have become idle are closed when asked, and the others when all are", async () => {
    const room = await openRoom(({ request, answer }) => {
      if (request.body.toString() === "idle") whole({ request, answer });
    });
    const [fresh, idle, busy] = [new Client(room), new Client(room), new Client(room)];
    idle.post("idle");
    await idle.hears("lane idle");
    busy.post("busy");
    await until(() => room.served.length === 2 && room.sockets.length === 3);
    room.lane.closeIdle();
    await idle.closed;
    expect([fresh.socket.destroyed, busy.socket.destroyed]).toEqual([false, false]);
    room.lane.closeAll();
    await Promise.all([fresh.closed, busy.closed]);
  });

  test("a connection that is idle for longer than it was told is closed", async () => {
    const room = await openRoom(whole, { idleMs: 100 });
    const client = new Client(room);
    client.post("one");
    await client.hears("lane one");
    await client.closed;
    expect(room.silent).toEqual([]);
  });

  test("a connection on which nothing comes is told so, and one that waits for its answer is not", async () => {
    const room = await openRoom(() => undefined, { headersMs: 200, idleMs: 100 });
    const busy = new Client(room);
    busy.post("one");
    await until(() => room.served.length === 1);
    const fresh = new Client(room);
    await fresh.closed;
    expect(room.silent).toHaveLength(1);
    expect(busy.socket.destroyed).toBe(false);
  });

  test("a port that was given back and taken again is looked after as before", async () => {
    const room = await openRoom(whole, { idleMs: 100 });
    await new Promise((resolve) => room.server.close(resolve));
    await new Promise<void>((resolve) => room.server.listen(0, "127.0.0.1", resolve));
    const client = new Client(room);
    client.post("one");
    await client.hears("lane one");
    await client.closed;
  });

  test("ERR-01 an empty line behind a request is no request", async () => {
    const room = await openRoom();
    const client = new Client(room);
    client.post("one");
    await client.hears("lane one");
    client.socket.write("\r\n");
    await until(() => room.sockets[0]?.bytesRead === posted("one").length + 2);
    client.post("two");
    await client.hears("lane two");
    expect(room.byNode).toEqual([]);
  });

  test("ERR-01 an answer that is over does not cut the connection under the next", async () => {
    const room = await openRoom(({ request, answer }) => {
      if (String(request.body) === "one") return whole({ request, answer });
      answer.writeHead(200, {});
      answer.write("begun");
    });
    const client = new Client(room);
    client.post("one");
    await client.hears("lane one");
    client.post("two");
    await client.hears("begun");
    const [first, second] = room.served;
    first?.answer.destroy();
    second?.answer.end("the end");
    await client.hears("the end\r\n0\r\n\r\n");
  });

  test.each(["reset", "closed"] as const)(
    "LOG-01 an answer that was written, and not taken before its connection was %s, is not finished",
    async (how) => {
      const closed: boolean[] = [];
      const room = await openRoom(({ answer }) => {
        answer.on("close", () => closed.push(answer.writableFinished));
        answer.writeHead(200, {});
        answer.write(Buffer.alloc(8 * 1024 * 1024));
        answer.end("the end");
      });
      const client = new Client(room);
      client.socket.pause();
      client.post("one");
      await until(() => room.served.length === 1);
      if (how === "reset") client.socket.resetAndDestroy();
      else client.socket.destroy();
      await until(() => closed.length === 1);
      expect(closed).toEqual([false]);
    },
  );

  test("LOG-01 an answer that is written to a connection that is reset already is not finished", async () => {
    const closed: boolean[] = [];
    const room = await openRoom(({ request, answer }) => {
      answer.on("close", () => closed.push(answer.writableFinished));
      // The write fails at once, before anybody has heard that the client has left.
      client.socket.resetAndDestroy();
      whole({ request, answer });
    });
    const client = new Client(room);
    client.post("one");
    await until(() => closed.length === 1);
    expect(closed).toEqual([false]);
  });

  test("only a new server is taken over", () => {
    const server = createServer();
    server.on("connection", () => undefined);
    const deps = {
      clock: { nowMs: () => 0 },
      patience: { headersMs: 1, idleMs: 1, checkEveryMs: 1 },
      serve: () => undefined,
      silent: () => undefined,
      timedOut: () => undefined,
      entered: () => undefined,
      left: () => undefined,
    };
    expect(() => new FastPath(server, deps)).toThrow("one listener");
  });
});
