import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { messageEvent, messageJson } from "../support/messages.ts";
import { nanosOf, openScene, type Scene } from "../support/scene.ts";

const CLAUDE = "anthropic/claude-sonnet-4-5";
const compact = { type: "compact_20260112", trigger: { type: "input_tokens", value: 50_000 } };
const message = (more: Json = {}) => ({
  model: CLAUDE,
  max_tokens: 50,
  messages: [{ role: "user", content: "Hi" }],
  context_management: { edits: [compact] },
  ...more,
});

const compaction = { type: "compaction", input_tokens: 180_000, output_tokens: 3500 };
const answer = { type: "message", input_tokens: 23_000, output_tokens: 1000 };
const top = { input_tokens: 23_000, output_tokens: 1000 };
const nothing = { input_tokens: 0, output_tokens: 0 };

/** Dollars per million tokens: up to 200,000 tokens in one prompt, and beyond. */
const SHORT = { input: 3, output: 15, read: 0.3, write: 3.75, write1h: 6 };
const LONG = { input: 6, output: 22.5, read: 0.6, write: 7.5, write1h: 12 };
type Tokens = Partial<Record<keyof typeof SHORT, number>>;
const dollars = (tokens: Tokens, rates = SHORT) =>
  Object.entries(rates).reduce((sum, [kind, rate]) => sum + (tokens[kind as keyof Tokens] ?? 0) * rate, 0) / 1e6;

const cached = {
  ...compaction,
  input_tokens: 10,
  cache_read_input_tokens: 150_000,
  cache_creation_input_tokens: 30_000,
  cache_creation: { ephemeral_5m_input_tokens: 10_000, ephemeral_1h_input_tokens: 20_000 },
};

/** The cost of a conversation that the provider compacts before it replies. */
describe("compaction of a conversation", () => {
  let scene: Scene;
  let tenant: Tenant;
  let usdPerEur = 0;
  beforeAll(async () => {
    scene = await openScene(["anthropic"]);
    const { data } = await scene.gateway.manage("GET", "/rates");
    usdPerEur = Number(data.find(({ currency }: Json) => currency === "USD").per_eur);
  });
  afterAll(() => scene.close());
  beforeEach(async () => {
    tenant = await scene.gateway.tenant({ credit: "50" });
  });

  const summary = { type: "compaction", content: "Summary of the conversation." };
  const streamOf = (usage: Json) => [
    messageEvent({ type: "message_start", message: { ...messageJson([]), usage: { ...nothing } } }),
    messageEvent({ type: "content_block_start", index: 0, content_block: { type: "compaction", content: null } }),
    messageEvent({
      type: "content_block_delta",
      index: 0,
      delta: { type: "compaction_delta", content: "Summary of the conversation." },
    }),
    messageEvent({ type: "content_block_stop", index: 0 }),
    messageEvent({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage }),
    messageEvent({ type: "message_stop" }),
  ];
  const ask = async (body: Json) => {
    const given = await scene.gateway.call(tenant.key, "/v1/messages", { body });
    expect([given.status, given.text]).toEqual([200, expect.anything()]);
    return { given, row: await scene.row(String(given.headers.get("x-svc-request-id"))) };
  };
  /** The same usage, in a complete reply and at the end of a stream. */
  const both = async (usage: Json): Promise<Json[]> => {
    scene.at("anthropic").next({ json: { ...messageJson([summary]), usage } });
    const whole = await ask(message());
    expect(whole.given.body.usage).toEqual(usage);
    scene.at("anthropic").next({ frames: streamOf(usage) });
    const streamed = await ask(message({ stream: true }));
    expect(streamed.given.text).toContain(JSON.stringify(usage));
    return [whole.row, streamed.row];
  };
  const expectCost = (row: Json, cost: number) =>
    expect(Math.abs(Number(nanosOf(row.cost)) - (cost * 1e9) / usdPerEur)).toBeLessThanOrEqual(1);

  test.each<[string, Json, Json, number]>([
    [
      "a compaction before the answer",
      { ...top, iterations: [compaction, answer] },
      { input_tokens: 203_000, output_tokens: 4500 },
      dollars({ input: 203_000, output: 4500 }),
    ],
    [
      "a compaction alone",
      { ...nothing, iterations: [compaction] },
      { input_tokens: 180_000, output_tokens: 3500 },
      dollars({ input: 180_000, output: 3500 }),
    ],
    [
      "two of them in one loop",
      { input_tokens: 46_000, output_tokens: 2000, iterations: [compaction, answer, compaction, answer] },
      { input_tokens: 406_000, output_tokens: 9000 },
      dollars({ input: 406_000, output: 9000 }),
    ],
    [
      "one that reads from a cache and writes to it",
      { ...top, cache_read_input_tokens: 7, iterations: [cached, answer] },
      { input_tokens: 203_017, cached_tokens: 150_007, cache_write_tokens: 30_000, output_tokens: 4500 },
      dollars({ input: 23_010, read: 150_007, write: 10_000, write1h: 20_000, output: 4500 }),
    ],
    [
      "a long prompt that is shortened",
      { ...top, iterations: [{ ...compaction, input_tokens: 250_000 }, answer] },
      { input_tokens: 273_000, output_tokens: 4500 },
      dollars({ input: 250_000, output: 3500 }, LONG) + dollars({ input: 23_000, output: 1000 }),
    ],
    [
      "no compaction, although requested",
      { ...top, iterations: [answer] },
      { input_tokens: 23_000, output_tokens: 1000 },
      dollars({ input: 23_000, output: 1000 }),
    ],
    [
      "a compaction that is in the sums already",
      { input_tokens: 203_000, output_tokens: 4500, iterations: [compaction, answer] },
      { input_tokens: 203_000, output_tokens: 4500 },
      dollars({ input: 203_000, output: 4500 }),
    ],
    [
      "what is no list",
      { ...top, iterations: "many" },
      { input_tokens: 23_000, output_tokens: 1000 },
      dollars({ input: 23_000, output: 1000 }),
    ],
    [
      "entries that are none, and of other models",
      { ...top, iterations: [null, 7, { ...answer, input_tokens: -1 }, { ...compaction, type: "advisor_message" }] },
      { input_tokens: 23_000, output_tokens: 1000 },
      dollars({ input: 23_000, output: 1000 }),
    ],
  ])(
    "BILL-02 BILL-05 MSG-01 %s is charged, and relayed as the provider reported it",
    async (_what, usage, counted, cost) => {
      for (const row of await both(usage)) {
        expect(row.usage).toMatchObject({ ...counted, estimated: false });
        expectCost(row, cost);
      }
    },
  );

  test.each<[string, Json]>([
    ["fewer than none", { ...compaction, input_tokens: -180_000 }],
    ["words", { ...compaction, input_tokens: "180000" }],
    ["a part of a token", { ...compaction, output_tokens: 0.5 }],
    ["more than there are", { ...compaction, output_tokens: 5_000_000_000 }],
    ["more than any model holds", { ...compaction, input_tokens: 30_000_000 }],
  ])("BILL-02 BILL-05 a compaction of %s is not billable usage", async (_what, entry) => {
    for (const row of await both({ ...top, iterations: [entry, answer] })) {
      expect(row.usage.estimated).toBe(true);
      expect(nanosOf(row.cost)).toBeLessThan(5_000_000n);
    }
  });

  test("BILL-02 CHAT-09 a client that disconnects after the summary pays for what was read and written", async () => {
    const frames = streamOf(nothing).slice(0, 4);
    scene.at("anthropic").next({ frames, end: { is: "stall", after: Buffer.byteLength(frames.join("")) } });
    const left = new AbortController();
    const given = await fetch(`${scene.gateway.url}/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
      body: JSON.stringify(message({ messages: [{ role: "user", content: "word ".repeat(2000) }], stream: true })),
      signal: left.signal,
    });
    let text = "";
    for await (const chunk of given.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes("Summary")) break;
    }
    left.abort();
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row).toMatchObject({ status: 499, usage: { estimated: true } });
    expect(row?.["usage"].input_tokens).toBeGreaterThan(1000);
    expect(row?.["usage"].output_tokens).toBeGreaterThan(3);
  });

  test("BILL-03 the hold covers a compaction when the prompt is long enough for one", async () => {
    const long = [{ role: "user", content: "word ".repeat(60_000) }];
    const ofOne = async (body: Json) => {
      const poor = await scene.gateway.tenant({ credit: "0.01" });
      const refused = await scene.gateway.call(poor.key, "/v1/messages", { body });
      expect(refused.status).toBe(402);
      return Number(/hold of ([\d.]+)/.exec(refused.text)?.[1]);
    };
    const plain = await ofOne(message({ messages: long, context_management: undefined }));
    expect((await ofOne(message({ messages: long }))) / plain).toBeCloseTo(2, 1);
    const later = { ...compact, trigger: { type: "input_tokens", value: 900_000 } };
    expect(await ofOne(message({ messages: long, context_management: { edits: [later] } }))).toBe(plain);
    const cleared = { edits: [{ type: "clear_tool_uses_20250919" }] };
    expect(await ofOne(message({ messages: long, context_management: cleared }))).toBe(plain);
  });

  test("BILL-05 CHAT-01 a chat completion cannot request it", async () => {
    scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
    const given = await scene.chat(tenant.key, { model: CLAUDE, context_management: { edits: [compact] } });
    expect([given.status, given.body.error?.param]).toEqual([400, "context_management"]);
  });
});
