import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../tests/support/eventually.ts";
import type { ConnectionSharing, HttpClient, UnsolicitedBytes } from "./contract.ts";
import { createHttpClient } from "./http-client.ts";

const LIMITS = { connections: 4, connectTimeoutMs: 15_000, firstByteTimeoutMs: 15_000, idleTimeoutMs: 15_000 };

const responseOf = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

type Exchange = { readonly socket: Socket; readonly request: string; readonly numberOnConnection: number };

/** A bare TCP server; `answer` writes what it likes for each request. */
async function startServer(answer: (exchange: Exchange) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    let requests = 0;
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      requests += 1;
      answer({ socket, request: bytes.toString(), numberOnConnection: requests });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  return { origin, sockets, openSockets: () => sockets.filter(({ destroyed }) => !destroyed) };
}

function openClient(sharing: Partial<ConnectionSharing> = {}, limits = LIMITS) {
  const reports: UnsolicitedBytes[] = [];
  const client = createHttpClient(limits, {
    ...{ isolation: "auto", workspacePoolsMax: 8, onUnsolicitedBytes: (bytes) => reports.push(bytes) },
    ...sharing,
  });
  onTestFinished(() => client.close());
  return { client, reports };
}

type Caller = { readonly workspace?: string; readonly owner?: string };

/** The body of the response, or the code of the failure. */
function ask(client: HttpClient, origin: string, caller: Caller, body = "{}"): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const onFailure = ({ why }: { readonly why: string }) => resolve(why);
    client.send(
      { url: `${origin}/v1`, headers: {}, body, ...caller },
      {
        onFailure,
        onHeaders: () => ({
          onFailure,
          onEnd: () => resolve(text),
          onData(bytes) {
            text += bytes.toString();
            return "more";
          },
        }),
      },
    );
  });
}

/** Holds back a second response to the first request of every connection until its next request arrives. */
const lateBytes = ({ socket, request, numberOnConnection }: Exchange) => {
  const asked = request.slice(request.indexOf("\r\n\r\n") + 4);
  if (numberOnConnection === 1) socket.write(responseOf(asked));
  else socket.write(responseOf("late bytes for the one before"));
};

describe("SAFE-04 isolation by workspace", () => {
  test("SAFE-04 late bytes reach only the workspace whose request caused them", async () => {
    const { origin } = await startServer(lateBytes);
    const { client } = openClient({ isolation: "workspace" });
    expect(await ask(client, origin, { workspace: "a" }, "from a")).toBe("from a");
    for (const workspace of ["b", "c"]) expect(await ask(client, origin, { workspace }, "mine")).toBe("mine");
    expect(await ask(client, origin, {}, "the gateway's own")).toBe("the gateway's own");
    expect(await ask(client, origin, { workspace: "a" }, "again")).toBe("late bytes for the one before");
  });

  test("SAFE-04 connections of the least recently active workspace are closed first, after their requests", async () => {
    const gate = Promise.withResolvers<void>();
    const { origin, sockets, openSockets } = await startServer(({ socket, request }) => {
      const reply = () => socket.write(responseOf("ok"));
      if (request.endsWith("slow")) void gate.promise.then(reply);
      else reply();
    });
    const { client } = openClient({ isolation: "workspace", workspacePoolsMax: 2 });
    const slow = ask(client, origin, { workspace: "a" }, "slow");
    await eventually(() => expect(sockets).toHaveLength(1));
    await ask(client, origin, { workspace: "b" });
    await ask(client, origin, { workspace: "c" });
    // The pool of a is closed, its request goes on; that of b is kept because a was older.
    await ask(client, origin, { workspace: "b" });
    expect(sockets).toHaveLength(3);
    gate.resolve();
    expect(await slow).toBe("ok");
    await eventually(() => expect(openSockets()).toHaveLength(2));
    await ask(client, origin, { workspace: "d" });
    await eventually(() => expect(openSockets()).toHaveLength(2));
    expect(sockets).toHaveLength(4);
  });

  test("SAFE-04 closing the client ends the requests of every workspace, also of closed pools", async () => {
    const { origin, sockets } = await startServer(() => undefined);
    const { client } = openClient({ isolation: "workspace", workspacePoolsMax: 1 });
    const running = ["a", "b"].map((workspace) => ask(client, origin, { workspace }));
    await eventually(() => expect(sockets).toHaveLength(2));
    await client.close();
    expect(await Promise.all(running)).toEqual(["Error", "Error"]);
  });
});

describe("SAFE-04 isolation on evidence", () => {
  const forging = (unsolicited: string) => {
    let isFirst = true;
    return startServer(({ socket }) => {
      socket.write(isFirst ? `${responseOf("ok")}${unsolicited}` : responseOf("ok"));
      isFirst = false;
    });
  };

  test("SAFE-04 workspaces share connections until the origin sends a byte beyond a response", async () => {
    const { origin, sockets } = await forging("!");
    const { client, reports } = openClient();
    expect(await ask(client, origin, { workspace: "a" })).toBe("ok");
    expect(reports).toEqual([{ origin, pool: "shared", isIsolated: true }]);
    for (const workspace of ["a", "b", "a", "b"]) expect(await ask(client, origin, { workspace })).toBe("ok");
    expect(sockets).toHaveLength(3);
    expect(reports).toHaveLength(1);
  });

  test("SAFE-04 a byte on an idle connection destroys it and all that workspaces shared", async () => {
    const gate = Promise.withResolvers<void>();
    const { origin, sockets, openSockets } = await startServer(
      ({ socket, request }) =>
        void (request.endsWith("{}") ? gate.promise : Promise.resolve()).then(() => socket.write(responseOf("ok"))),
    );
    const { client, reports } = openClient();
    const held = ask(client, origin, { workspace: "a" });
    await eventually(() => expect(sockets).toHaveLength(1));
    expect(await ask(client, origin, { workspace: "b" }, "now")).toBe("ok");
    sockets[1]?.write("x");
    await eventually(() => expect(reports).toEqual([{ origin, pool: "shared", isIsolated: true }]));
    gate.resolve();
    expect(await held).toBe("ok");
    await eventually(() => expect(openSockets()).toEqual([]));
    expect(await ask(client, origin, { workspace: "a" }, "now")).toBe("ok");
    expect(sockets).toHaveLength(3);
  });

  test("SAFE-04 requests queued at the connection limit are sent on new connections after the evidence", async () => {
    const gates = { bad: Promise.withResolvers<void>(), b: Promise.withResolvers<void>() };
    const carried: string[] = [];
    const { origin, sockets, openSockets } = await startServer(({ socket, request }) => {
      const asked = request.slice(request.indexOf("\r\n\r\n") + 4);
      carried.push(`${sockets.indexOf(socket) + 1}: ${asked}`);
      const gate = asked === "bad" || asked === "b" ? gates[asked].promise : Promise.resolve();
      void gate.then(() => socket.write(`${responseOf(asked)}${asked === "bad" ? "!" : ""}`));
    });
    const { client, reports } = openClient({}, { ...LIMITS, connections: 2 });
    const send = (workspace: string) => ask(client, origin, { workspace }, workspace);
    const bad = send("bad");
    await eventually(() => expect(carried).toEqual(["1: bad"]));
    const b = send("b");
    await eventually(() => expect(carried).toHaveLength(2));
    const queued = ["c", "d", "e"].map(send);
    gates.bad.resolve();
    await eventually(() => expect(reports).toHaveLength(1));
    gates.b.resolve();
    expect(await Promise.all([bad, b, ...queued])).toEqual(["bad", "b", "c", "d", "e"]);
    // One request on each connection that workspaces shared, whichever of the queued ones was connected first.
    expect(carried.map((line) => line.slice(0, 1)).toSorted()).toEqual(["1", "2", "3", "4", "5"]);
    await eventually(() => expect(openSockets()).toEqual([]));
  });

  test("SAFE-04 other origins stay shared, and the rest of an aborted response is no evidence", async () => {
    const { origin, sockets } = await startServer(({ socket, request }) =>
      socket.write(request.endsWith("{}") ? responseOf("ok") : `${responseOf("ok")}!`),
    );
    const { client, reports } = openClient();
    client.isolate("http://127.0.0.1:9");
    for (const workspace of ["a", "b"]) await ask(client, origin, { workspace });
    expect(sockets).toHaveLength(1);
    await new Promise<void>((resolve) => {
      const call = client.send(
        { url: `${origin}/v1`, headers: {}, body: "aborted", workspace: "a" },
        {
          onFailure: () => resolve(),
          onHeaders() {
            call.abort();
            return { onData: () => "more", onEnd: () => resolve(), onFailure: () => resolve() };
          },
        },
      );
    });
    expect(reports).toEqual([]);
  });

  test("SAFE-04 an origin known to be unsafe is isolated from its first connection on", async () => {
    const { origin, sockets } = await startServer(({ socket }) => socket.write(responseOf("ok")));
    const { client } = openClient();
    client.isolate(origin);
    for (const workspace of ["a", "b", "a"]) await ask(client, origin, { workspace });
    expect(sockets).toHaveLength(2);
  });

  test("SAFE-04 on a workspace's own key: isolates the origin only if the operator's credentials are used there", async () => {
    const mine = await forging("!");
    const { client, reports } = openClient();
    await ask(client, mine.origin, { owner: "a", workspace: "a" });
    expect(reports).toEqual([{ origin: mine.origin, pool: "own_key", isIsolated: false }]);
    const common = await forging("!");
    client
      .send(
        { url: `${common.origin}/v1`, headers: {}, body: "{}" },
        { onFailure() {}, onHeaders: () => ({ onData: () => "more", onEnd() {}, onFailure() {} }) },
      )
      .abort();
    await ask(client, common.origin, { owner: "a", workspace: "a" });
    expect(reports[1]).toEqual({ origin: common.origin, pool: "own_key", isIsolated: true });
  });
});
