import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { framesOf, gate, replyingWith } from "../support/response-callers.ts";
import { abandonedHandshake, openSocket, refusedHandshake, type SocketClient } from "../support/responses-socket.ts";
import { MODEL, openScene, type Scene } from "../support/scene.ts";
import type { Script } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["ionos"], { GATEWAY_WEBSOCKETS_PER_KEY: "2", GATEWAY_BODY_MAX_BYTES: "200000" });
  scene.at("ionos").always(replyingWith("translated", ["Hello", " there"]));
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const DONE = ["response.completed", "error"] as const;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const streaming = (text: string) => ({ frames: framesOf("translated", [text]) });

/** A stream that breaks or goes silent after its first words. */
function begun(is: "cut" | "stall"): Script {
  const frames = framesOf("translated", ["Hello", " there", " again"]);
  return { frames, end: { is, after: frames.slice(0, 3).join("").length } };
}

async function connected<T>(use: (socket: SocketClient) => Promise<T>, key = tenant.key): Promise<T> {
  const socket = await openSocket(scene.gateway.url, key);
  try {
    return await use(socket);
  } finally {
    socket.ws.terminate();
    await socket.closed;
  }
}

const ask = (socket: SocketClient, more: Json = {}) => {
  socket.create({ model: MODEL, input: "Say hello.", store: false, ...more });
  return socket.until(...DONE);
};
function sentMessages(): Json[] {
  const sent: Json = scene.at("ionos").requests.at(-1)?.json;
  return sent.messages;
}

describe("a response.create", () => {
  test("RESP-20 gets the events of the stream over HTTP, and the X-Svc values under svc in the first one", async () => {
    const http = await scene.gateway.call(tenant.key, "/v1/responses", {
      body: { model: MODEL, input: "Say hello.", store: false, stream: true },
    });
    const overHttp = http.text
      .split("\n\n")
      .flatMap((block) => block.match(/^data: (.*)$/m)?.[1] ?? [])
      .map((data): Json => JSON.parse(data));
    const events = await connected((socket) => ask(socket));
    expect(events.map(({ type }) => type)).toEqual(overHttp.map(({ type }) => type));
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    const [created] = events;
    expect(created.response.svc).toMatchObject({
      request_id: created.response.id,
      provider: "ionos",
      sovereignty_level: http.headers.get("x-svc-sovereignty-level"),
    });
    expect(events.at(-1)?.response).not.toHaveProperty("svc");
    expect(events.at(-1)?.response.output[0].content[0].text).toBe("Hello there");
  });

  test("RESP-20 BILL-01 LOG-01 each one is recorded and charged, and counts in the key's window", async () => {
    const own = await scene.gateway.tenant({ key: { rpm: 2 } });
    await connected(async (socket) => {
      const ids = [];
      for (let at = 0; at < 2; at += 1) ids.push((await ask(socket)).at(-1)?.response.id);
      const [refused] = await ask(socket);
      expect(refused).toMatchObject({ type: "error", status: 429, error: { code: "rate_limit_exceeded" } });
      expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
      const rows = await scene.rowsOnce(own, 3);
      expect(rows.map(({ id, surface, status }) => [id, surface, status])).toEqual(
        expect.arrayContaining(ids.map((id) => [id, "responses", 200])),
      );
      expect(rows.filter(({ status }) => status === 429)).toHaveLength(1);
    }, own.key);
    expect(await scene.charges(own)).toHaveLength(2);
    expect((await scene.wallet(own)).held).toBe("0.00");
  });

  test("RESP-20 errors come in the connection, which stays open", async () => {
    await connected(async (socket) => {
      const next = async (frame: string) => {
        socket.ws.send(frame);
        return socket.next();
      };
      expect(await next("{")).toMatchObject({ type: "error", status: 400, error: { code: "invalid_json" } });
      expect(await next('{"type":"response.steer"}')).toMatchObject({ status: 400, error: { param: "type" } });
      expect((await ask(socket, { temperature: "hot" }))[0]).toMatchObject({
        status: 400,
        error: { param: "temperature" },
      });
      expect((await ask(socket, { model: "no/such" }))[0]).toMatchObject({
        status: 404,
        error: { code: "model_not_found" },
      });
      expect((await ask(socket, { generate: "no" }))[0]).toMatchObject({ status: 400, error: { param: "generate" } });
      expect((await ask(socket)).at(-1)?.type).toBe("response.completed");
    });
  });

  test("RESP-20 a broken stream ends with response.failed, and the next create is served", async () => {
    await connected(async (socket) => {
      scene.at("ionos").next({
        frames: ['data: {"choices":[{"index":0,"delta":{"content":"He"}}]}\n\n'],
        end: { is: "cut", after: 60 },
      });
      socket.create({ model: MODEL, input: "Say hello.", store: false });
      const events = await socket.until("response.failed", ...DONE);
      expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed" } });
      expect((await ask(socket)).at(-1)?.type).toBe("response.completed");
    });
  });
});

describe("a conversation", () => {
  test("RESP-20 a warm-up calls no model and costs nothing; the next create continues it, and the one after that", async () => {
    const own = await scene.gateway.tenant();
    await scene.gateway.manage("PATCH", `/workspaces/${own.slug}/policy`, { zero_data_retention: true });
    await connected(async (socket) => {
      const before = scene.at("ionos").requests.length;
      const message = (text: string) => ({ type: "message", role: "user", content: [{ type: "input_text", text }] });
      const warm = await ask(socket, { generate: false, input: [message("One.")], instructions: "Be brief." });
      expect(warm.map(({ type }) => type)).toEqual(["response.created", "response.completed"]);
      expect(warm[1].response.usage).toMatchObject({ input_tokens: 0, output_tokens: 0, total_tokens: 0 });
      expect(scene.at("ionos").requests.length).toBe(before);

      const first = await ask(socket, {
        previous_response_id: warm[1].response.id,
        input: [],
        instructions: "Be brief.",
      });
      expect(first.at(-1)?.type, JSON.stringify(first.at(-1))).toBe("response.completed");
      expect(sentMessages().map(({ role }: Json) => role)).toEqual(["system", "user"]);

      const second = await ask(socket, { previous_response_id: first.at(-1)?.response.id, input: "Two." });
      expect(second.at(-1)?.type).toBe("response.completed");
      expect(sentMessages().map(({ role }: Json) => role)).toEqual(["user", "assistant", "user"]);
      expect(JSON.stringify(sentMessages())).toMatch(/One\..*Hello there.*Two\./);

      const [stale] = await ask(socket, { previous_response_id: warm[1].response.id, input: "Three." });
      expect(stale).toMatchObject({ type: "error", error: { code: "previous_response_not_found" } });
    }, own.key);
    expect(await scene.charges(own)).toHaveLength(2);
  });

  test("RESP-20 another connection does not know it", async () => {
    const id = await connected(async (socket) => (await ask(socket)).at(-1)?.response.id);
    const [answer] = await connected((socket) => ask(socket, { previous_response_id: id }));
    expect(answer).toMatchObject({
      type: "error",
      error: { code: "previous_response_not_found", param: "previous_response_id" },
    });
  });

  test("RESP-20 RESP-04 a stored one is continued from the store, on any connection", async () => {
    const id = await connected(async (socket) => (await ask(socket, { store: true })).at(-1)?.response.id);
    const events = await connected((socket) =>
      ask(socket, { store: true, previous_response_id: id, input: "And now?" }),
    );
    expect(events.at(-1)?.type, JSON.stringify(events.at(-1))).toBe("response.completed");
    expect(JSON.stringify(sentMessages())).toMatch(/Hello there.*And now/);
  });
});

describe("several creates", () => {
  test("RESP-20 without a stream_id the second waits for the first, and a third is refused", async () => {
    await connected(async (socket) => {
      const held = gate();
      const before = scene.at("ionos").requests.length;
      scene.at("ionos").next({ ...streaming("One"), gate: held.closed });
      for (let at = 0; at < 3; at += 1) socket.create({ model: MODEL, input: "Hi", store: false });
      expect(await socket.next()).toMatchObject({ type: "error", status: 400, error: { param: "type" } });
      expect((await scene.at("ionos").arrived(before + 1)).path).toContain("/chat/completions");
      held.open();
      const first = await socket.until(...DONE);
      const second = await socket.until(...DONE);
      expect([first, second].map((events) => events.at(-1)?.response.output[0].content[0].text)).toEqual([
        "One",
        "Hello there",
      ]);
    });
  });

  test("RESP-20 creates of different stream_ids run side by side, and every event names its own", async () => {
    await connected(async (socket) => {
      const held = gate();
      const before = scene.at("ionos").requests.length;
      scene.at("ionos").next({ ...streaming("Slow"), gate: held.closed });
      socket.create({ model: MODEL, input: "Hi", store: false, stream_id: "a" });
      await scene.at("ionos").arrived(before + 1);
      socket.create({ model: MODEL, input: "Hi", store: false, stream_id: "b" });
      const fast = await socket.until(...DONE);
      expect(new Set(fast.map(({ stream_id }) => stream_id))).toEqual(new Set(["b"]));
      held.open();
      const slow = await socket.until(...DONE);
      expect(new Set(slow.map(({ stream_id }) => stream_id))).toEqual(new Set(["a"]));
      socket.create({ model: MODEL, input: "Hi", stream_id: "a b" });
      expect(await socket.next()).toMatchObject({ type: "error", error: { param: "stream_id" } });
    });
  });
});

describe("the handshake", () => {
  test("RESP-20 AUTH-04 SCOPE-03 needs a valid key with the scope, which plain HTTP statuses tell", async () => {
    const { url } = scene.gateway;
    expect(await refusedHandshake(url, {})).toMatchObject({
      status: 401,
      body: { error: { code: "missing_api_key" } },
    });
    expect(await refusedHandshake(url, bearer("sk_svc_live_wrong"))).toMatchObject({ status: 401 });
    const { key } = await scene.gateway.tenant({ key: { scopes: ["inference:embeddings"] } });
    expect(await refusedHandshake(url, bearer(key))).toMatchObject({
      status: 403,
      body: { error: { code: "insufficient_scope" } },
    });
  });

  test("RESP-20 a connection too many for its key is 426, so that Codex goes on over HTTP; a closed one makes room", async () => {
    const own = await scene.gateway.tenant();
    const sockets = [await openSocket(scene.gateway.url, own.key), await openSocket(scene.gateway.url, own.key)];
    const refused = await refusedHandshake(scene.gateway.url, bearer(own.key));
    expect(refused).toMatchObject({ status: 426, body: { error: { code: "websocket_connection_limit_reached" } } });
    expect(refused.headers.upgrade).toBe("websocket");
    await connected(async () => undefined);
    sockets[0]?.ws.terminate();
    const again = await eventually(() => openSocket(scene.gateway.url, own.key));
    for (const { ws } of [...sockets, again]) ws.terminate();
  });

  test("RESP-20 connections that closed during the handshake do not count", async () => {
    for (let turns = 0; turns < 8; turns += 1) {
      // A key used for the first time is read from the store, which takes some turns.
      const own = await scene.gateway.tenant();
      for (let at = 0; at < 2; at += 1) await abandonedHandshake(turns, scene.gateway.url, own.key);
      const socket = await eventually(() => openSocket(scene.gateway.url, own.key));
      socket.ws.terminate();
    }
  });

  test("RESP-20 GEN-04 without it the path is served over HTTP as before", async () => {
    expect((await scene.gateway.call(tenant.key, "/v1/responses")).status).toBe(405);
  });
});

describe("the end of a connection", () => {
  test("RESP-20 KEY-04 a revoked key gets its error and loses the connection", async () => {
    const own = await scene.gateway.tenant();
    const socket = await openSocket(scene.gateway.url, own.key);
    expect((await ask(socket)).at(-1)?.type).toBe("response.completed");
    await scene.gateway.manage("POST", `/keys/${own.keyId}/revoke`);
    const [refused] = await ask(socket);
    expect(refused).toMatchObject({ type: "error", status: 401, error: { code: "invalid_api_key" } });
    expect(await socket.closed).toMatchObject({ code: 1008 });
  });

  test("RESP-20 binary frames and frames beyond the body limit end it with the code for each", async () => {
    for (const [frame, code] of [
      [Buffer.from("{}"), 1003],
      [JSON.stringify({ type: "response.create", input: "a".repeat(300_000) }), 1009],
    ] as const) {
      const socket = await openSocket(scene.gateway.url, tenant.key);
      socket.ws.send(frame);
      expect(await socket.closed).toMatchObject({ code });
    }
  });

  test("RESP-20 a client that leaves cancels the provider's call, and what it used is charged", async () => {
    const own = await scene.gateway.tenant();
    const socket = await openSocket(scene.gateway.url, own.key);
    const before = scene.at("ionos").requests.length;
    scene.at("ionos").next(begun("stall"));
    socket.create({ model: MODEL, input: "Hi", store: false });
    await socket.until("response.output_text.delta");
    socket.ws.terminate();
    expect(await (await scene.at("ionos").arrived(before + 1)).over).toBe("aborted");
    const [row] = await scene.rowsOnce(own, 1);
    expect(row).toMatchObject({ surface: "responses", usage: { estimated: true } });
    expect((await scene.wallet(own)).held).toBe("0.00");
  });

  test("RESP-20 an idle connection is closed", async () => {
    const quick = await openScene(["ionos"], { GATEWAY_WEBSOCKET_IDLE_MS: "1000" });
    try {
      const socket = await openSocket(quick.gateway.url, (await quick.gateway.tenant()).key);
      expect(await socket.closed).toEqual({ code: 1001, reason: "idle" });
    } finally {
      await quick.close();
    }
  });

  test("RESP-20 a stop closes idle connections at once and others after their response", async () => {
    const other = await openScene(["ionos"]);
    const held = gate();
    const { key } = await other.gateway.tenant();
    const idle = await openSocket(other.gateway.url, key);
    const busy = await openSocket(other.gateway.url, key);
    other.at("ionos").next({ ...streaming("Last"), gate: held.closed });
    busy.create({ model: MODEL, input: "Hi", store: false });
    await other.at("ionos").arrived(1);
    const stopped = other.gateway.close();
    expect(await idle.closed).toMatchObject({ code: 1001 });
    busy.create({ model: MODEL, input: "Hi", store: false });
    expect(await busy.next()).toMatchObject({ type: "error", status: 503 });
    held.open();
    expect((await busy.until(...DONE)).at(-1)?.response.output[0].content[0].text).toBe("Last");
    expect(await busy.closed).toMatchObject({ code: 1001 });
    await stopped;
    await other.close();
  });

  test("RESP-20 a deployment without it answers 426, and Codex goes on over HTTP", async () => {
    const without = await openScene(["ionos"], { GATEWAY_WEBSOCKETS_PER_KEY: "0" });
    try {
      const { key } = await without.gateway.tenant();
      const refused = await refusedHandshake(without.gateway.url, bearer(key));
      expect(refused).toMatchObject({ status: 426, body: { error: { code: "responses_websocket_not_enabled" } } });
    } finally {
      await without.close();
    }
  });
});
