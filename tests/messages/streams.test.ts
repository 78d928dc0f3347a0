import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { foldMessage, messageEvents } from "../support/message-stream.ts";
import { costNanos, nanosOf, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, type Script, sse } from "../support/upstream.ts";
import { openMessage } from "../support/verbatim-json.ts";

/** Streams of this dialect from a provider of chat completions, with every valid variation. */
const { model } = DIALECT_SCRIPTS.D1;

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["deepinfra"], { GATEWAY_KEEP_ALIVE_MS: "50" });
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
});

const body = { model, max_tokens: 100, stream: true, messages: [{ role: "user", content: "Say hello." }] };
const WEATHER = { name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } };

function answered(script: Script, more: Record<string, unknown> = {}): Promise<Called> {
  scene.at("deepinfra").next(script);
  return scene.gateway.call(tenant.key, "/v1/messages", { body: { ...body, ...more } });
}

const streamOf = async (pieces: readonly (string | object)[], options: Parameters<typeof chatFrames>[1] = {}) => {
  const answer = await answered({ frames: chatFrames(pieces, { usage: "asked", ...options }) }, { tools: [WEATHER] });
  expect(answer.status, answer.text).toBe(200);
  return answer;
};

const piece = (index: number, args: string, more: object = {}) => ({
  tool_calls: [{ index, ...more, function: { arguments: args, ...("id" in more ? { name: "weather" } : {}) } }],
});

test("CHAT-10 MSG-02 keep-alives before the first event are comments: the first event is message_start", async () => {
  const [role = "", word = ""] = chatFrames(["Hello"], {});
  const speaks = Promise.withResolvers<void>();
  scene.at("deepinfra").next({ frames: [role, { data: word, afterMs: 0, gate: speaks.promise }, "data: [DONE]\n\n"] });
  const open = await openMessage(scene.gateway.url, tenant.key, body);
  expect(await open.until(": keep-alive\n\n: keep-alive\n\n")).not.toContain("event:");
  speaks.resolve();
  expect(/^event: (\w+)$/m.exec(await open.until("message_stop"))?.[1]).toBe("message_start");
});

describe("variations of providers", () => {
  test("MSG-02 interleaved arguments of two calls become two complete blocks", async () => {
    const { text } = await streamOf(
      [
        piece(0, "", { id: "call_a", type: "function" }),
        piece(1, "", { id: "call_b", type: "function" }),
        piece(0, '{"city":'),
        piece(1, '{"city":"Ro'),
        piece(0, '"Paris"}'),
        piece(1, 'me"}'),
      ],
      { finish: "tool_calls" },
    );
    const message = foldMessage(text);
    expect(message.content).toEqual([
      { type: "tool_use", id: "call_a", name: "weather", input: { city: "Paris" } },
      { type: "tool_use", id: "call_b", name: "weather", input: { city: "Rome" } },
    ]);
    expect(message.stop_reason).toBe("tool_use");
  });

  test("MSG-02 an empty first delta, as most servers send one, opens no block", async () => {
    const { text } = await streamOf(["", piece(0, "{}", { id: "call_a", type: "function" })], { finish: "tool_calls" });
    expect(foldMessage(text).content.map(({ type }: Json) => type)).toEqual(["tool_use"]);
  });

  test("MSG-02 the first text is not lost, and the start is reported once", async () => {
    const { text } = await streamOf(["Hel", "lo"]);
    expect(foldMessage(text).content).toEqual([{ type: "text", text: "Hello" }]);
    expect(text.split("event: message_start")).toHaveLength(2);
  });

  test("MSG-02 the estimate at the start, the actual usage at the end", async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 7,
      total_tokens: 107,
      prompt_tokens_details: { cached_tokens: 60 },
    };
    const { text } = await streamOf(["Hello"], { usage });
    const events = messageEvents(text);
    expect(events[0].message.usage.input_tokens).toBeGreaterThan(0);
    expect(events.at(-2).usage).toMatchObject({ input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 7 });
    expect(events.at(-2).usage.cost).toBe(
      Number(costNanos("deepinfra", { input: 100, cached: 60, output: 7 }, "EUR", model)) / 1e9,
    );
  });

  test("MSG-02 a stop sequence is reported if the server reports it, and null otherwise", async () => {
    const frames = [
      sse({ id: "c", choices: [{ index: 0, delta: { role: "assistant", content: "Hi" }, finish_reason: null }] }),
      sse({ id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop", stop_reason: "END" }] }),
      "data: [DONE]\n\n",
    ];
    const known = foldMessage((await answered({ frames: frames }, { stop_sequences: ["END"] })).text);
    expect([known.stop_reason, known.stop_sequence]).toEqual(["stop_sequence", "END"]);
    const unknown = foldMessage((await answered({ frames: chatFrames(["Hi"]) }, { stop_sequences: ["END"] })).text);
    expect([unknown.stop_reason, unknown.stop_sequence]).toEqual(["end_turn", null]);
  });

  test("MSG-02 a refusal of the model is text with the stop reason refusal", async () => {
    const { text } = await streamOf([{ refusal: "I can" }, { refusal: "not." }]);
    expect(foldMessage(text)).toMatchObject({
      content: [{ type: "text", text: "I cannot." }],
      stop_reason: "refusal",
      stop_details: { explanation: "I cannot." },
    });
  });
});

describe("a stream that fails", () => {
  const partialFrames = chatFrames(["begun"]).slice(0, 2);
  const begunBytes = Buffer.byteLength(partialFrames.join(""));

  test.each<[string, Script]>([
    ["is cut", { frames: [...partialFrames, "data: "], end: { is: "cut", after: begunBytes + 6, how: "rst" } }],
    ["has no final event", { frames: partialFrames }],
    ["reports a failure", { frames: [...partialFrames, sse({ error: { message: "boom", code: 500 } })] }],
  ])(
    "ERR-02 ERR-03 a stream that %s after its first text ends with an error event and is not charged",
    async (_, script) => {
      const answer = await answered(script);
      expect(answer.status).toBe(200);
      // A slow stream gets pings meanwhile.
      const events = messageEvents(answer.text).filter(({ type }) => type !== "ping");
      const id = answer.headers.get("x-svc-request-id");
      expect(events.map(({ type }) => type)).toEqual([
        "message_start",
        "content_block_start",
        "content_block_delta",
        "error",
      ]);
      expect(events.at(-1)).toEqual({
        type: "error",
        error: {
          message: expect.stringContaining("not charged"),
          type: "upstream_error",
          code: "upstream_error",
          request_id: id,
        },
        request_id: id,
      });
      expect(await scene.charges(tenant)).toEqual([]);
      expect((await scene.wallet(tenant)).held).toBe("0.00");
    },
  );

  test("ERR-03 a stream that breaks before its first text is refused with a status", async () => {
    const answer = await answered({ frames: partialFrames.slice(0, 1) });
    expect([answer.status, answer.body.type, answer.body.error.code]).toEqual([502, "error", "upstream_error"]);
  });
});

test("MSG-02 a silent stream gets repeated pings", async () => {
  const [role = "", first = ""] = chatFrames(["Hello"]);
  scene.at("deepinfra").next({ frames: [role, first], end: { is: "stall", after: Buffer.byteLength(role + first) } });
  const open = await openMessage(scene.gateway.url, tenant.key, body);
  const ping = 'event: ping\ndata: {"type": "ping"}\n\n';
  const text = await open.until(ping + ping);
  expect(text.indexOf("Hello")).toBeLessThan(text.indexOf("event: ping"));
  open.hangUp();
  await scene.rowsOnce(tenant, 1);
});

test("CHAT-09 BILL-02 a disconnect cancels the provider's call, and the caller pays for what was received", async () => {
  const words = ["These", " words", " were", " sent."];
  const frames = chatFrames(words).slice(0, words.length + 1);
  scene.at("deepinfra").next({ frames, end: { is: "stall", after: Buffer.byteLength(frames.join("")) } });
  const reached = scene.at("deepinfra").arrived(scene.at("deepinfra").requests.length + 1);
  const open = await openMessage(scene.gateway.url, tenant.key, body);
  await open.until(" sent.");
  open.hangUp();
  expect(await (await reached).over).toBe("aborted");
  const [row] = await scene.rowsOnce(tenant, 1);
  const output = Math.ceil(words.join("").length / 4);
  expect(row).toMatchObject({ surface: "messages", status: 499, error_code: "client_disconnected", streaming: true });
  expect(row.usage).toMatchObject({ output_tokens: output, estimated: true });
  const used = { input: row.usage.input_tokens, output };
  expect(await scene.charges(tenant)).toEqual([
    { id: expect.stringContaining(row.id), nanos: costNanos("deepinfra", used, "EUR", model) },
  ]);
  expect(nanosOf((await scene.wallet(tenant)).held)).toBe(0n);
});
