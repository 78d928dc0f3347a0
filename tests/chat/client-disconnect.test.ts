import { connect } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { changedCatalogue } from "../support/changed-catalogue.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { gate } from "../support/response-callers.ts";
import { chatBody, costNanos, nanosOf, type OpenChat, openScene, type Scene, startChat } from "../support/scene.ts";
import { chatFrames, chatJson, type Script, sse } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  const folder = changedCatalogue({ ovhcloud: (facts) => Object.assign(facts, { quirks: ["bills-on"] }) });
  scene = await openScene(["deepinfra", "ovhcloud"], { GATEWAY_CATALOGUE_DIR: folder });
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
});

const WORDS = ["These", " words", " were", " sent."];
const spoken = chatFrames(WORDS).slice(0, WORDS.length + 1);
const bytesOf = (frames: readonly string[]) => Buffer.byteLength(frames.join(""));
/** Sends some content, then stays silent for longer than any test runs. */
const waiting: Script = { frames: spoken, end: { is: "stall", after: bytesOf(spoken) } };

/** The next request of the cheapest provider, and whether the gateway disconnects. */
function nextAt(provider: "deepinfra" | "ovhcloud") {
  return scene.at(provider).arrived(scene.at(provider).requests.length + 1);
}

/** The gateway has noticed the disconnect once it has answered a later request. */
async function disconnect(open: OpenChat): Promise<void> {
  open.hangUp();
  for (let time = 0; time < 2; time += 1) await scene.gateway.call("", "/healthz");
}

async function expectFree(row: Json): Promise<void> {
  expect(row).toMatchObject({ status: 499, error_code: "client_disconnected", cost: "0.00" });
  expect(row.usage.output_tokens).toBe(null);
  expect(await scene.charges(tenant)).toEqual([]);
  expect(await scene.wallet(tenant)).toEqual({ balance: "10.00", held: "0.00", currency: "EUR" });
}

describe("an incomplete body", () => {
  const HEAD = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json";
  const begin = async (rest: string) => {
    const socket = connect(Number(new URL(scene.gateway.url).port), "127.0.0.1").resume();
    socket.on("error", () => undefined);
    await new Promise((written) => socket.write(`${HEAD}\r\nauthorization: Bearer ${tenant.key}\r\n${rest}`, written));
    return socket;
  };

  test.each([
    ["announced length", 'content-length: 999\r\n\r\n{"model":'],
    ["chunks", 'transfer-encoding: chunked\r\n\r\n9\r\n{"model":\r\n'],
  ])("CHAT-09 LOG-01 of %s: a disconnect is logged as a disconnect, whatever was sent", async (_, sent) => {
    (await begin(sent)).destroy();
    const [row] = await scene.rowsOnce(tenant, 1);
    await expectFree(row);
  });

  test("CHAT-09 LOG-01 because of invalid HTTP: the log has the error that the sender receives", async () => {
    const socket = await begin("transfer-encoding: chunked\r\n\r\nthis is no length\r\n");
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row).toMatchObject({ status: 400, error_code: "invalid_request", cost: "0.00" });
    socket.destroy();
  });
});

describe("a client that disconnects during a stream", () => {
  test.each([
    ["closes", "close"],
    ["resets", "reset"],
  ])(
    "CHAT-09 BILL-02 %s its connection: the provider's call is cancelled, and relayed content is counted and billed once",
    async (_, how) => {
      scene.at("deepinfra").next(waiting);
      const reached = nextAt("deepinfra");
      const open = await scene.open(tenant.key, { stream: true });
      await open.until(" sent.");
      const received = await reached;
      expect(received.aborted).toBe(false);
      if (how === "reset") open.response.socket.resetAndDestroy();
      else open.hangUp();
      expect(await received.over).toBe("aborted");
      const [row] = await scene.rowsOnce(tenant, 1);
      expect(row).toMatchObject({
        status: 499,
        error_code: "client_disconnected",
        streaming: true,
        provider: "deepinfra",
      });
      expect(row.attempts).toMatchObject([{ outcome: "cancelled", reason: "the client disconnected" }]);
      const output = Math.ceil(WORDS.join("").length / 4);
      expect(row.usage).toMatchObject({ output_tokens: output, estimated: true });
      const nanos = costNanos("deepinfra", { input: row.usage.input_tokens, output });
      expect(nanosOf(row.cost)).toBe(nanos);
      expect(await scene.charges(tenant)).toEqual([{ id: `charge:${open.headers["x-svc-request-id"]}`, nanos }]);
      expect(await scene.wallet(tenant)).toMatchObject({ held: "0.00" });
      expect(nanosOf((await scene.wallet(tenant)).balance)).toBe(10_000_000_000n - nanos);
    },
  );

  test("CHAT-09 usage that the provider has reported by then is billed", async () => {
    const figured = spoken.map((frame, at) =>
      sse({
        ...JSON.parse(frame.slice("data: ".length)),
        usage: { prompt_tokens: 90, completion_tokens: at, total_tokens: 90 + at },
      }),
    );
    scene.at("deepinfra").next({ frames: figured, end: { is: "stall", after: bytesOf(figured) } });
    const open = await scene.open(tenant.key, { stream: true });
    await open.until(" sent.");
    open.hangUp();
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row.usage).toMatchObject({ input_tokens: 90, output_tokens: WORDS.length, estimated: false });
    expect(nanosOf(row.cost)).toBe(costNanos("deepinfra", { input: 90, output: WORDS.length }));
  });

  test("CHAT-09 BILL-02 a disconnect between the last token and the usage saves nothing: usage is billed", async () => {
    const whole = chatFrames(WORDS, { usage: "asked" });
    const figures = { prompt_tokens: 90, completion_tokens: 5000, total_tokens: 5090 };
    const [last = "", end = ""] = whole.slice(-2);
    const counted = sse({ ...JSON.parse(last.slice("data: ".length)), usage: figures });
    const rest = gate();
    const figured = { data: counted + end, afterMs: 0, gate: rest.closed };
    scene.at("deepinfra").next({ frames: [...whole.slice(0, -2), figured] });
    const open = await scene.open(tenant.key, { stream: true });
    await open.until('"finish_reason":"stop"');
    await disconnect(open);
    rest.open();
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row).toMatchObject({ status: 499, error_code: "client_disconnected" });
    expect(row.usage).toMatchObject({ input_tokens: 90, output_tokens: 5000, estimated: false });
    const nanos = costNanos("deepinfra", { input: 90, output: 5000 });
    expect(await scene.charges(tenant)).toEqual([{ id: `charge:${open.headers["x-svc-request-id"]}`, nanos }]);
    expect(await scene.wallet(tenant)).toMatchObject({ held: "0.00" });
  });

  test("CHAT-09 BILL-03 without a limit all relayed content is billed, also above the hold; with one, at most the hold", async () => {
    // Far more than the default hold of 4096 tokens, also at the most expensive provider.
    const long = "word ".repeat(40_000);
    const frames = chatFrames([long, " sent."]).slice(0, 3);
    const disconnect = async (more: object) => {
      scene.at("deepinfra").next({ frames, end: { is: "stall", after: bytesOf(frames) } });
      const open = await scene.open(tenant.key, { stream: true, ...more });
      await open.until(" sent.");
      const { held } = await scene.wallet(tenant);
      open.hangUp();
      return nanosOf(held);
    };
    const held = await disconnect({});
    const [row] = await scene.rowsOnce(tenant, 1);
    const output = Math.ceil((long.length + " sent.".length) / 4);
    expect(row.usage).toMatchObject({ output_tokens: output, estimated: true });
    const nanos = costNanos("deepinfra", { input: row.usage.input_tokens, output });
    expect([nanosOf(row.cost), nanos > held]).toEqual([nanos, true]);
    const bound = await disconnect({ max_tokens: 100 });
    const [limited] = await scene.rowsOnce(tenant, 2);
    expect(nanosOf(limited.cost)).toBe(bound);
    expect(nanosOf((await scene.wallet(tenant)).balance)).toBe(10_000_000_000n - nanos - bound);
  });

  test("CHAT-09 a provider that bills after a cancel, by the catalogue, is read to its end, and its usage is billed", async () => {
    const [first = "", second = "", ...rest] = chatFrames(WORDS, { usage: "asked" });
    const counted = rest.map((frame) => frame.replace(/"completion_tokens":\d+/, '"completion_tokens":5000'));
    const disconnected = gate();
    scene.at("ovhcloud").next({
      frames: [first, second, { data: counted.join(""), afterMs: 0, gate: disconnected.closed }],
    });
    const reached = nextAt("ovhcloud");
    const open = await scene.open(tenant.key, { stream: true, provider: { only: ["ovhcloud"] } });
    await open.until(WORDS[0] ?? "");
    await disconnect(open);
    disconnected.open();
    expect(await (await reached).over).toBe("whole");
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row).toMatchObject({ status: 499, error_code: "client_disconnected" });
    expect(row.usage).toMatchObject({ output_tokens: 5000, estimated: false });
    const nanos = costNanos("ovhcloud", { input: row.usage.input_tokens, output: 5000 });
    expect(await scene.charges(tenant)).toEqual([{ id: `charge:${open.headers["x-svc-request-id"]}`, nanos }]);
  });

  test("CHAT-09 the wait for missing usage is bounded", async () => {
    const whole = chatFrames(WORDS).slice(0, WORDS.length + 2);
    scene.at("deepinfra").next({ frames: whole, end: { is: "stall", after: bytesOf(whole) } });
    const reached = nextAt("deepinfra");
    const open = await scene.open(tenant.key, { stream: true });
    await open.until('"finish_reason":"stop"');
    open.hangUp();
    expect(await (await reached).over).toBe("aborted");
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row).toMatchObject({ status: 499, usage: { estimated: true } });
    expect(await scene.charges(tenant)).toHaveLength(1);
  });

  test("CHAT-09 a provider that keeps sending finds its connection closed", async () => {
    scene.at("deepinfra").next({ frames: forever(), betweenFramesMs: 5 });
    const reached = nextAt("deepinfra");
    const open = await scene.open(tenant.key, { stream: true });
    await open.until("on and on");
    open.hangUp();
    expect(await (await reached).over).toBe("aborted");
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row).toMatchObject({ status: 499 });
    expect(await scene.charges(tenant)).toHaveLength(1);
  });

  test("CHAT-09 a client that stops reading and then disconnects: the provider's call is cancelled", async () => {
    scene.at("deepinfra").next({ frames: forever("x".repeat(16_384)) });
    const reached = nextAt("deepinfra");
    const request = startChat(scene.gateway.url, tenant.key, chatBody({ stream: true }));
    const received = await reached;
    await new Promise((resolve) => request.once("response", resolve));
    request.destroy();
    expect(await received.over).toBe("aborted");
    await scene.rowsOnce(tenant, 1);
    expect(await scene.wallet(tenant)).toMatchObject({ held: "0.00" });
  });
});

describe("a client that disconnects before any content", () => {
  const BEFORE: readonly (readonly [string, boolean, Script])[] = [
    ["before the provider's headers, streamed", true, { end: { is: "stall", after: "before_headers" } }],
    ["before the provider's headers, whole", false, { end: { is: "stall", after: "before_headers" } }],
    ["in the middle of a whole reply", false, { json: chatJson(), end: { is: "stall", after: 50 } }],
    [
      "after the preamble of a stream",
      true,
      { frames: spoken, end: { is: "stall", after: bytesOf(spoken.slice(0, 1)) } },
    ],
    ["in the middle of an error", false, { status: 500, json: { error: {} }, end: { is: "stall", after: 3 } }],
  ];
  test.each(BEFORE)(
    "CHAT-09 BILL-02 %s: the provider's call is cancelled, no other provider is called, and it is free",
    async (_, stream, script) => {
      const others = scene.at("ovhcloud").requests.length;
      scene.at("deepinfra").next(script);
      const reached = nextAt("deepinfra");
      const request = startChat(scene.gateway.url, tenant.key, chatBody({ stream }));
      const received = await reached;
      request.destroy();
      expect(await received.over).toBe("aborted");
      const [row] = await scene.rowsOnce(tenant, 1);
      await expectFree(row);
      expect(row).toMatchObject({ streaming: stream });
      expect(scene.at("ovhcloud").requests.length).toBe(others);
    },
  );

  test("CHAT-09 a disconnect during the second attempt cancels that attempt", async () => {
    scene.at("deepinfra").next({ status: 503, json: {} });
    scene.at("ovhcloud").next({ end: { is: "stall", after: "before_headers" } });
    const reached = nextAt("ovhcloud");
    const request = startChat(scene.gateway.url, tenant.key, chatBody());
    const received = await reached;
    request.destroy();
    expect(await received.over).toBe("aborted");
    const [row] = await scene.rowsOnce(tenant, 1);
    await expectFree(row);
    expect(row.attempts.map(({ outcome }: Json) => outcome)).toEqual(["next", "cancelled"]);
  });

  test("CHAT-09 a provider that bills after a cancel is cancelled too if its model has sent no content", async () => {
    const begun = spoken.slice(0, 1);
    scene.at("ovhcloud").next({ frames: begun, end: { is: "stall", after: bytesOf(begun) } });
    const reached = nextAt("ovhcloud");
    const body = chatBody({ stream: true, provider: { only: ["ovhcloud"] } });
    const request = startChat(scene.gateway.url, tenant.key, body);
    const received = await reached;
    await new Promise((resolve) => setTimeout(resolve, 100));
    request.destroy();
    expect(await received.over).toBe("aborted");
    await expectFree((await scene.rowsOnce(tenant, 1))[0]);
  });

  test("CHAT-09 a disconnect during the request body calls no provider", async () => {
    const before = scene.at("deepinfra").requests.length;
    const request = startChat(scene.gateway.url, tenant.key, chatBody({ user: "x".repeat(1000) }), "unfinished");
    await new Promise((resolve) => request.once("socket", (socket) => socket.once("connect", resolve)));
    request.destroy();
    const { status } = await scene.chat(tenant.key);
    expect(status).toBe(200);
    expect(scene.at("deepinfra").requests.length).toBe(before + 1);
  });
});

function* forever(word = "on and on"): Generator<string> {
  const [role = "", more = ""] = chatFrames([word]);
  yield role;
  for (;;) yield more;
}
