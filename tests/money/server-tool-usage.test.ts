import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { messageEvent, messageJson } from "../support/messages.ts";
import { RESPONSE_USAGE, responseFrames, responseJson } from "../support/responses-native.ts";
import { nanosOf, openScene, type Scene } from "../support/scene.ts";

/** A provider that runs tools calls its model again after each, and reports the usage of all calls in one. */
describe("usage of a provider's tool loop", () => {
  let scene: Scene;
  let tenant: Tenant;
  let usdPerEur = 0;
  beforeAll(async () => {
    scene = await openScene(["anthropic", "openai"]);
    const { data } = await scene.gateway.manage("GET", "/rates");
    usdPerEur = Number(data.find(({ currency }: Json) => currency === "USD").per_eur);
  });
  afterAll(() => scene.close());
  beforeEach(async () => {
    tenant = await scene.gateway.tenant({ credit: "50" });
  });

  type Rates = { readonly input: number; readonly output: number; readonly search: number };
  const OUTPUT = 3000;
  const expectCost = (row: Json, input: number, searches: number, rates: Rates) => {
    expect(row.usage).toMatchObject({ input_tokens: input, output_tokens: OUTPUT, estimated: false });
    const dollars = (input * rates.input + OUTPUT * rates.output) / 1e6 + searches * rates.search;
    expect(Math.abs(Number(nanosOf(row.cost)) - (dollars * 1e9) / usdPerEur)).toBeLessThanOrEqual(1);
  };
  const ask = async (path: string, body: Json) => {
    const answer = await scene.gateway.call(tenant.key, path, { body });
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return scene.row(String(answer.headers.get("x-svc-request-id")));
  };

  const SHORT = { input: 3, output: 15, search: 0.01 };
  const LONG = { input: 6, output: 22.5, search: 0.01 };
  const usageOf = (input_tokens: number, searches: number, more: Json = {}) => ({
    input_tokens,
    output_tokens: OUTPUT,
    server_tool_use: { web_search_requests: searches },
    ...more,
  });
  const TEXT = { type: "text", text: "Found." };
  const messageAnswer = (usage: Json, blocks: readonly Json[] = []) => ({ ...messageJson([...blocks, TEXT]), usage });
  const messageFrames = (usage: Json, blocks: readonly Json[] = []) => [
    messageEvent({ type: "message_start", message: { ...messageJson([]), usage: usageOf(20, 0) } }),
    ...[...blocks, { ...TEXT, text: "" }].flatMap((content_block, index) => [
      messageEvent({ type: "content_block_start", index, content_block }),
      ...(content_block.type === "text"
        ? [messageEvent({ type: "content_block_delta", index, delta: { type: "text_delta", text: TEXT.text } })]
        : []),
      messageEvent({ type: "content_block_stop", index }),
    ]),
    messageEvent({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage }),
    messageEvent({ type: "message_stop" }),
  ];
  /** The same reply, complete and as a stream. */
  const both = async (usage: Json, body: Json, blocks: readonly Json[] = []): Promise<Json[]> => {
    scene.at("anthropic").next({ json: messageAnswer(usage, blocks) });
    const whole = await ask("/v1/messages", body);
    scene.at("anthropic").next({ frames: messageFrames(usage, blocks) });
    return [whole, await ask("/v1/messages", { ...body, stream: true })];
  };
  const searching = {
    model: "anthropic/claude-sonnet-4-5",
    max_tokens: 50,
    messages: [{ role: "user", content: "Hi" }],
    tools: [{ type: "web_search_20260318", name: "web_search" }],
  };
  const iterations = (...types: string[]) => ({ iterations: types.map((type) => ({ type, input_tokens: 0 })) });

  test.each<[string, number, number, Json, Rates]>([
    ["a prompt of the usual length", 150_000, 0, {}, SHORT],
    ["a long prompt", 300_000, 0, {}, LONG],
    ["twelve searches", 700_000, 12, {}, SHORT],
    ["more than four contexts in twelve searches", 900_000, 12, {}, SHORT],
    ["two searches between long prompts", 700_000, 2, {}, LONG],
    ["twelve searches at once", 700_000, 12, iterations("message", "message", "compaction"), LONG],
    ["twelve searches, one after the other", 700_000, 12, iterations(...Array(13).fill("message")), SHORT],
    ["a loop without a search", 700_000, 0, iterations("message", "message", "message", "fallback_message"), SHORT],
    ["no separate figures", 300_000, 0, { iterations: null }, LONG],
  ])("BILL-05 MSG-01 %s: %i tokens and %i searches are charged by the length of one prompt", async (...args) => {
    const [, input, searches, more, rates] = args;
    for (const row of await both(usageOf(input, searches, more), searching)) expectCost(row, input, searches, rates);
  });

  type Prompt = { readonly input: number; readonly output: number; readonly type?: string };
  const usageWith = (prompts: readonly Prompt[]) => ({
    iterations: prompts.map(({ input, output, type = "message" }) => ({
      type,
      input_tokens: input - 1000,
      cache_read_input_tokens: 1000,
      output_tokens: output,
    })),
  });
  const dollarsOf = ({ input, output }: Prompt, rates: Rates) =>
    ((input - 1000) * rates.input + 100 * rates.input + output * rates.output) / 1e6;
  const FIRST = { input: 100_000, output: 2000 };
  const SECOND = { input: 290_000, output: 1000 };
  const COMPACTION = { input: 250_000, output: 500, type: "compaction" };
  const EACH = dollarsOf(FIRST, SHORT) + dollarsOf(SECOND, LONG);
  const BESIDE = dollarsOf(COMPACTION, LONG);

  test.each<[string, readonly Prompt[], Json, number]>([
    ["a short and a long one", [FIRST, SECOND], {}, EACH],
    ["one of another kind", [FIRST, { ...SECOND, type: "fallback_message" }], {}, EACH],
    ["reasoning reported in the sum only", [FIRST, SECOND], { output_tokens_details: { thinking_tokens: 900 } }, EACH],
    ["a compaction before them", [COMPACTION, FIRST, SECOND], {}, EACH + BESIDE],
    [
      "a compaction that is in the sums already",
      [COMPACTION, FIRST, SECOND],
      { input_tokens: 637_000, cache_read_input_tokens: 3000, output_tokens: 3500 },
      EACH + BESIDE,
    ],
    [
      "what they do not add up to",
      [FIRST, SECOND],
      { input_tokens: 388_001 },
      dollarsOf(FIRST, SHORT) + dollarsOf(SECOND, SHORT) + SHORT.input / 1e6,
    ],
  ])(
    "BILL-05 MSG-01 prompts reported separately are each charged by their own length: %s",
    async (_what, prompts, more, dollars) => {
      const usage = usageOf(388_000, 0, { cache_read_input_tokens: 2000, ...usageWith(prompts), ...more });
      for (const row of await both(usage, searching)) {
        expect(row.usage.estimated).toBe(false);
        expect(Math.abs(Number(nanosOf(row.cost)) - (dollars * 1e9) / usdPerEur)).toBeLessThanOrEqual(1);
      }
    },
  );

  test("BILL-02 BILL-05 a prompt beyond the context length does not count, whatever stands beside it", async () => {
    const lengths = [900_000, 1000, 1000, 1000];
    const iterations = lengths.map((input_tokens) => ({ type: "message", input_tokens, output_tokens: OUTPUT / 4 }));
    for (const row of await both(usageOf(903_000, 0, { iterations }), searching)) {
      expect(row.usage).toMatchObject({ estimated: true });
      expect(nanosOf(row.cost)).toBeLessThan(100_000_000n);
    }
  });

  test.each<[string, number, Json, number, number, Rates]>([
    ["tools of an MCP server", 30, { type: "mcp_tool_use", name: "look", server_name: "s" }, 900_000, 0, SHORT],
    ["tools of an MCP server", 8, { type: "mcp_tool_use", name: "look", server_name: "s" }, 270_000, 0, SHORT],
    ["tools of an MCP server", 1, { type: "mcp_tool_use", name: "look", server_name: "s" }, 700_000, 0, LONG],
    ["searches for tools", 8, { type: "server_tool_use", name: "tool_search_tool_regex" }, 270_000, 0, SHORT],
    ["searches, told as well", 3, { type: "server_tool_use", name: "web_search" }, 700_000, 3, SHORT],
    ["searches, told as well", 2, { type: "server_tool_use", name: "web_search" }, 700_000, 2, LONG],
    ["tools of the caller's", 8, { type: "tool_use", name: "look" }, 270_000, 0, LONG],
  ])("BILL-05 MSG-01 %s, %i of them, are as many prompts and one more", async (_what, count, block, ...rest) => {
    const [input, searches, rates] = rest;
    const blocks = Array.from({ length: count }, (_, at) => ({ ...block, id: `use_${at}`, input: {} }));
    for (const row of await both(usageOf(input, searches), searching, blocks)) expectCost(row, input, searches, rates);
  });

  test.each([700_000, 900_000])(
    "BILL-05 CHAT-09 a client that disconnects after usage of %i tokens pays the full price",
    async (input) => {
      const frames = messageFrames(usageOf(input, 12)).slice(0, -1);
      scene.at("anthropic").next({ frames, end: { is: "stall", after: Buffer.byteLength(frames.join("")) } });
      const left = new AbortController();
      const answer = await fetch(`${scene.gateway.url}/v1/messages`, {
        method: "POST",
        headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
        body: JSON.stringify({ ...searching, stream: true }),
        signal: left.signal,
      });
      let text = "";
      for await (const chunk of answer.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (text.includes("end_turn")) break;
      }
      left.abort();
      const [row] = await scene.rowsOnce(tenant, 1);
      expect(row).toMatchObject({ status: 499, error_code: "client_disconnected" });
      expectCost(row, input, 12, SHORT);
    },
  );

  test.each([
    ["one prompt", 900_000, 0],
    ["more searches than any loop makes", 100_000_000, 100_000],
  ])("BILL-02 BILL-05 %s of %i tokens is implausible and charged at most the hold", async (...row) => {
    const [, input, searches] = row;
    scene.at("anthropic").next({ json: messageAnswer(usageOf(input, searches)) });
    const { usage, cost } = await ask("/v1/messages", searching);
    expect(usage).toMatchObject({ estimated: true });
    expect(nanosOf(cost)).toBeLessThan(100_000_000n);
  });

  test.each<[string, readonly string[], Rates]>([
    [
      "pages that were opened after a search",
      ["search", "open_page", "find_in_page", "open_page"],
      { input: 2.5, output: 15, search: 0.01 },
    ],
    ["one search between long prompts", ["search"], { input: 5, output: 22.5, search: 0.01 }],
  ])("BILL-05 RESP-01 %s: a response is charged by the length of one prompt", async (_what, actions, rates) => {
    const output = actions.map((type, at) => ({ id: `ws_${at}`, type: "web_search_call", action: { type } }));
    const usage = {
      ...RESPONSE_USAGE,
      input_tokens_details: { cached_tokens: 0 },
      input_tokens: 1_000_000,
      output_tokens: OUTPUT,
    };
    const body = { model: "openai/gpt-5.4", input: "Hi", tools: [{ type: "web_search" }] };
    scene.at("openai").next({ json: responseJson({ output, usage }) });
    expectCost(await ask("/v1/responses", body), 1_000_000, 1, rates);
    scene.at("openai").next({ frames: responseFrames(["Found."], { output, usage }) });
    expectCost(await ask("/v1/responses", { ...body, stream: true }), 1_000_000, 1, rates);
  });
});
