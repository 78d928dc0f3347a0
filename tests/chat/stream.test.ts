import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import { chunksOf, contentOf, costNanos, eventsOf, nanosOf, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, sse, UPSTREAM_USAGE } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const deepinfra = () => scene.at("deepinfra");
const lastCost = async () => {
  const [charge] = await scene.charges(tenant);
  return charge?.nanos;
};

describe("a stream", () => {
  test("CHAT-01 every frame is the provider's own except for its id, and the stream ends with [DONE]", async () => {
    const frames = chatFrames(["Grüße", " \u{1F600}", { reasoning_content: "hm" }]);
    deepinfra().next({ frames });
    const answer = await scene.chat(tenant.key, { stream: true });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(answer.headers.get("cache-control")).toBe("no-cache");
    const id = answer.headers.get("x-svc-request-id");
    expect(answer.text).toBe(frames.join("").replaceAll("chatcmpl-upstream1", String(id)));
    expect(answer.text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("CHAT-01 ids of tool calls and an id inside the text stay unchanged", async () => {
    const call = (index: number, more: object) => ({ tool_calls: [{ index, ...more }] });
    const pieces = [
      call(0, { id: "chatcmpl-upstream1", type: "function", function: { name: "f", arguments: "" } }),
      call(0, { function: { arguments: '{"id":"chatcmpl' } }),
      call(0, { function: { arguments: '-upstream1"}' } }),
      call(1, { id: "call_b", type: "function", function: { name: "g", arguments: "{}" } }),
    ];
    deepinfra().next({ frames: chatFrames(pieces, { finish: "tool_calls" }) });
    const { text, headers } = await scene.chat(tenant.key, { stream: true });
    const chunks = chunksOf(text);
    expect(chunks.every(({ id }) => id === headers.get("x-svc-request-id"))).toBe(true);
    expect(chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta)).toEqual([
      { role: "assistant", content: "", refusal: null },
      ...pieces,
      {},
    ]);
  });

  test("CHAT-01 content is forwarded at once: the first text arrives before the provider continues", async () => {
    const [role = "", first = ""] = chatFrames(["first"]);
    deepinfra().next({ frames: [role, first], end: { is: "stall", after: Buffer.byteLength(role + first) } });
    const open = await scene.open(tenant.key, { stream: true });
    await open.until("first");
    open.hangUp();
  });

  test("CHAT-01 a stream that arrives byte by byte gives the same", async () => {
    const frames = chatFrames(["Grüße, ", "世界"]);
    deepinfra().next({ frames, slices: "bytes" });
    const { text, headers } = await scene.chat(tenant.key, { stream: true });
    expect(text).toBe(frames.join("").replaceAll("chatcmpl-upstream1", String(headers.get("x-svc-request-id"))));
  });

  test("CHAT-01 carriage returns, comments, a byte order mark and data without a space are read", async () => {
    const events = chatFrames(["one", "two"]).map((frame) => frame.replace("data: ", "data:").replaceAll("\n", "\r\n"));
    deepinfra().next({ frames: ["\uFEFF: hello\r\n\r\n", ...events] });
    const { text } = await scene.chat(tenant.key, { stream: true });
    expect(contentOf(text)).toBe("onetwo");
    expect(text).not.toContain("\r");
    expect(eventsOf(text).at(-1)).toBe("[DONE]");
  });

  test("CHAT-01 what a provider sends after its end marker is discarded", async () => {
    deepinfra().next({ frames: [...chatFrames(["whole"]), sse({ choices: [], late: true }), "data: [DONE]\n\n"] });
    const { text } = await scene.chat(tenant.key, { stream: true });
    expect(text).not.toContain("late");
    expect(eventsOf(text).filter((data) => data === "[DONE]")).toHaveLength(1);
  });

  test("CHAT-01 a finish reason without an end marker completes the stream", async () => {
    const before = (await scene.charges(tenant)).length;
    deepinfra().next({ frames: chatFrames(["all of it"], { done: "missing", usage: "asked" }) });
    const { text } = await scene.chat(tenant.key, { stream: true });
    expect(eventsOf(text).at(-1)).toBe("[DONE]");
    expect(await scene.charges(tenant)).toHaveLength(before + 1);
  });

  test("CHAT-01 an empty reply with only a finish reason is valid", async () => {
    deepinfra().next({ frames: chatFrames([], { finish: "content_filter", usage: "asked" }) });
    const { text, status } = await scene.chat(tenant.key, { stream: true });
    expect(status).toBe(200);
    expect(chunksOf(text).at(-1).choices[0].finish_reason).toBe("content_filter");
  });
});

describe("usage in a stream", () => {
  test("CHAT-06 usage is always requested from the provider, billed, and hidden from a client that did not request it", async () => {
    const { text, headers } = await scene.chat(tenant.key, { stream: true });
    expect(deepinfra().requests.at(-1)?.json).toMatchObject({ stream_options: { include_usage: true } });
    for (const chunk of chunksOf(text)) {
      expect(chunk.choices.length).toBeGreaterThan(0);
      expect(chunk.usage ?? null).toBe(null);
    }
    const row = await scene.row(String(headers.get("x-svc-request-id")));
    expect(row.usage).toMatchObject({ input_tokens: 11, output_tokens: 7, estimated: false });
    expect(nanosOf(row.cost)).toBe(costNanos("deepinfra", { input: 11, output: 7 }));
    expect(await lastCost()).toBe(nanosOf(row.cost));
  });

  test("CHAT-06 include_usage false is the same as absent", async () => {
    const { text } = await scene.chat(tenant.key, { stream: true, stream_options: { include_usage: false } });
    expect(deepinfra().requests.at(-1)?.json).toMatchObject({ stream_options: { include_usage: true } });
    expect(chunksOf(text).every(({ choices }) => choices.length > 0)).toBe(true);
  });

  test("CHAT-06 CHAT-07 if requested, the last frame before [DONE] has usage with cost and currency, equal to the ledger", async () => {
    const { text, headers } = await scene.chat(tenant.key, { stream: true, stream_options: { include_usage: true } });
    const events = eventsOf(text);
    const [last] = chunksOf(`data: ${events.at(-2)}\n\n`);
    const nanos = costNanos("deepinfra", { input: 11, output: 7 });
    expect(last).toMatchObject({ id: headers.get("x-svc-request-id"), choices: [] });
    expect(last.usage).toEqual({ ...UPSTREAM_USAGE, cost: Number(nanos) / 1e9, currency: "EUR" });
    expect(await lastCost()).toBe(nanos);
  });

  test("CHAT-06 usage beside content is held back until the end and sent once", async () => {
    const chunk = (delta: object, finish: string | null, usage?: object) =>
      sse({
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "m",
        choices: [{ index: 0, delta, finish_reason: finish }],
        ...(usage === undefined ? {} : { usage }),
      });
    const frames = [
      chunk({ role: "assistant", content: "Hel" }, null, { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 }),
      chunk({ content: "lo" }, "stop", { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }),
      "data: [DONE]\n\n",
    ];
    for (const include of [true, false]) {
      deepinfra().next({ frames });
      const { text } = await scene.chat(tenant.key, { stream: true, stream_options: { include_usage: include } });
      const chunks = chunksOf(text);
      expect(contentOf(text)).toBe("Hello");
      const withUsage = chunks.filter(({ usage }) => usage != null);
      expect(withUsage.map(({ usage }) => usage.completion_tokens)).toEqual(include ? [2] : []);
      // The last usage counts: cumulative values are never added up.
      expect(await lastCost()).toBe(costNanos("deepinfra", { input: 5, output: 2 }));
    }
  });

  test("CHAT-07 a stream without usage: the client gets the gateway's own count, as charged", async () => {
    deepinfra().next({ frames: chatFrames(["12345678", "12345678"]) });
    const { text, headers } = await scene.chat(tenant.key, { stream: true, stream_options: { include_usage: true } });
    const { usage, choices } = chunksOf(text).at(-1);
    expect(choices).toEqual([]);
    expect(usage.completion_tokens).toBe(4);
    const nanos = costNanos("deepinfra", { input: usage.prompt_tokens, output: 4 });
    expect(usage.cost).toBe(Number(nanos) / 1e9);
    expect(await lastCost()).toBe(nanos);
    expect((await scene.row(String(headers.get("x-svc-request-id")))).usage.estimated).toBe(true);
  });

  test("CHAT-06 stream_options without a stream do not reach the provider", async () => {
    const { status } = await scene.chat(tenant.key, { stream_options: { include_usage: true } });
    expect(status).toBe(200);
    expect(deepinfra().requests.at(-1)?.json).not.toHaveProperty("stream_options");
  });
});
