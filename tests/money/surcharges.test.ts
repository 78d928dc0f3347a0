import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { chatJson } from "../support/chat-bodies.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { messageEvent, messageJson } from "../support/messages.ts";
import { catalogueWithExtras, perUse, times } from "../support/priced-extras.ts";
import { frameOf, responseFrames, responseJson } from "../support/responses-native.ts";
import { credentialOf, MODEL, nanosOf, openScene, type Provider, type Scene } from "../support/scene.ts";

const CLAUDE = "anthropic/claude-sonnet-4-5";
const GPT = "openai/gpt-5";

const message = (more: Json) => ({
  model: CLAUDE,
  max_tokens: 50,
  messages: [{ role: "user", content: "Hi" }],
  ...more,
});
const response = (more: Json) => ({ model: GPT, input: "Hi", ...more });
const chat = (more: Json) => ({ model: MODEL, messages: [{ role: "user", content: "Hi" }], ...more });

const search = { type: "web_search_20260318", name: "web_search", max_uses: 2 };

/** Path, request, and the field that requests it. */
const EXTRAS: readonly [string, string, Json, string][] = [
  ["a web search", "/v1/messages", message({ tools: [search] }), "tools.0.type"],
  ["an unknown tool", "/v1/messages", message({ tools: [{ type: "novel_2029", name: "n" }] }), "tools.0.type"],
  [
    "code that the provider runs",
    "/v1/messages",
    message({ tools: [{ type: "code_execution_20260120", name: "c" }] }),
    "tools.0.type",
  ],
  [
    "code that the provider runs, as a tool that comes later",
    "/v1/messages",
    message({
      messages: [
        { role: "user", content: "Hi" },
        {
          role: "system",
          content: [
            { type: "tool_addition", tool: { type: "tool_reference", name: "mine" } },
            {
              type: "tool_addition",
              tool: { type: "tool_definition", definition: { type: "code_execution_20260120", name: "c" } },
            },
          ],
        },
      ],
    }),
    "messages.1.content.1.tool.type",
  ],
  ["a container", "/v1/messages", message({ container: "c_1" }), "container"],
  ["speed", "/v1/messages", message({ speed: "fast" }), "speed"],
  ["a place to compute", "/v1/messages", message({ inference_geo: "us" }), "inference_geo"],
  ["other models behind it", "/v1/messages", message({ fallbacks: [{ model: "x" }] }), "fallbacks"],
  ["a better service", "/v1/messages", message({ service_tier: "priority" }), "service_tier"],
  [
    "a search in files",
    "/v1/responses",
    response({ tools: [{ type: "file_search", vector_store_ids: ["v"] }] }),
    "tools.0.type",
  ],
  [
    "code that the provider runs",
    "/v1/responses",
    response({ tools: [{ type: "code_interpreter", container: { type: "auto" } }] }),
    "tools.0.type",
  ],
  [
    "a shell in a container",
    "/v1/responses",
    response({ tools: [{ type: "shell", environment: { type: "container_auto" } }] }),
    "tools.0.environment",
  ],
  [
    "a search that must be made",
    "/v1/responses",
    response({ tools: [{ type: "web_search" }], tool_choice: "required" }),
    "tools.0.type",
  ],
  [
    "a search in a group of tools",
    "/v1/responses",
    response({ tools: [{ type: "namespace", name: "n", description: "d", tools: [{ type: "web_search" }] }] }),
    "tools.0.tools.0.type",
  ],
  [
    "a search among tools that were found",
    "/v1/responses",
    response({
      input: [
        { role: "user", content: "Hi" },
        { type: "tool_search_output", call_id: "c", tools: [{ type: "web_search" }] },
      ],
    }),
    "input.1.tools.0.type",
  ],
  ["other models in other words", "/v1/messages", message({ fallbacks: "auto" }), "fallbacks"],
  ["a template of the provider's", "/v1/responses", response({ prompt: { id: "p" } }), "prompt"],
  ["a better service", "/v1/responses", response({ service_tier: "priority" }), "service_tier"],
  ["a better service", "/v1/chat/completions", chat({ service_tier: "priority" }), "service_tier"],
  ["a reserved service", "/v1/chat/completions", chat({ service_tier: "scale" }), "service_tier"],
];

describe("surcharges without a price", () => {
  let scene: Scene;
  let tenant: Tenant;
  beforeAll(async () => {
    scene = await openScene(["anthropic", "openai", "deepinfra"], {
      GATEWAY_CATALOGUE_DIR: catalogueWithExtras({ anthropic: {}, openai: {} }),
    });
    tenant = await scene.gateway.tenant();
  });
  afterAll(() => scene.close());
  const requestCounts = () =>
    (["anthropic", "openai", "deepinfra"] as const).map((one: Provider) => scene.at(one).requests.length);

  test.each(EXTRAS)(
    "BILL-05 %s on %s is refused by its field without an upstream call",
    async (_what, path, body, field) => {
      const before = requestCounts();
      const answer = await scene.gateway.call(tenant.key, path, { body });
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("workspace's own provider key")]);
      expect(answer.text).toContain(body["model"]);
      expect(answer.text).toContain(field);
      if (path !== "/v1/messages")
        expect(answer.body.error).toMatchObject({ code: "unsupported_parameter", param: field });
      expect(requestCounts()).toEqual(before);
    },
  );

  test.each([
    ["/v1/messages", message({ service_tier: "auto", inference_geo: "global", speed: "standard", container: null })],
    ["/v1/messages", message({ service_tier: "standard_only", tools: [{ type: "bash_20250124", name: "bash" }] })],
    ["/v1/messages", message({ tools: [{ type: "tool_search_tool_bm25_20251119", name: "t" }], fallbacks: [] })],
    ["/v1/responses", response({ service_tier: "default", tools: [{ type: "local_shell" }] })],
    ["/v1/responses", response({ service_tier: "auto", tools: [{ type: "apply_patch" }] })],
  ])("BILL-05 %s: what costs only tokens passes through", async (path, body) => {
    const provider = path === "/v1/messages" ? "anthropic" : "openai";
    scene
      .at(provider)
      .next({ json: provider === "anthropic" ? messageJson([{ type: "text", text: "Hi" }]) : responseJson() });
    expect((await scene.gateway.call(tenant.key, path, { body })).status).toBe(200);
    expect(scene.at(provider).requests.at(-1)?.json).toMatchObject({ ...body, model: expect.any(String) });
  });

  test.each([
    ["/v1/chat/completions", "deepinfra", chat({}), { ...chatJson(), service_tier: "flex" }],
    ["/v1/responses", "openai", response({}), { ...responseJson(), service_tier: "flex" }],
  ] as const)("BILL-05 PARAM-01 service_tier flex on %s costs the standard price", async (path, at, body, json) => {
    const ask = async (more: Json) => {
      scene.at(at).next({ json });
      const answer = await scene.gateway.call(tenant.key, path, { body: { ...body, ...more } });
      expect(answer.status, answer.text).toBe(200);
      return answer;
    };
    const [plain, flex] = [await ask({}), await ask({ service_tier: "flex" })];
    expect(scene.at(at).requests.at(-1)?.json).toMatchObject({ service_tier: "flex" });
    expect(flex.body.service_tier).toBe("flex");
    const costs = await Promise.all(
      [plain, flex].map(async ({ headers }) => (await scene.row(String(headers.get("x-svc-request-id")))).cost),
    );
    expect(nanosOf(costs[0])).toBeGreaterThan(0n);
    expect(costs[1]).toBe(costs[0]);
  });

  test.each([
    ["/v1/chat/completions", chat({ service_tier: "bogus" })],
    ["/v1/responses", response({ service_tier: "bogus" })],
    ["/v1/chat/completions", chat({ model: "anthropic/claude-sonnet-4-5", service_tier: "bogus" })],
  ])("PARAM-01 an unknown service_tier on %s is refused as a value without an upstream call", async (path, body) => {
    const before = requestCounts();
    const answer = await scene.gateway.call(tenant.key, path, { body });
    expect([answer.status, answer.body.error.code, answer.body.error.param]).toEqual([
      400,
      "invalid_value",
      "service_tier",
    ]);
    expect(requestCounts()).toEqual(before);
  });

  test("BILL-05 a search that is only offered is not sent, and header and log report it", async () => {
    scene.at("openai").next({ json: responseJson() });
    const tools = [{ type: "function", name: "f", parameters: null, strict: false }, { type: "web_search" }];
    const answer = await scene.gateway.call(tenant.key, "/v1/responses", {
      body: response({ tools, tool_choice: "auto" }),
    });
    expect(answer.status).toBe(200);
    expect(scene.at("openai").requests.at(-1)?.json).toMatchObject({ tools: [tools[0]], tool_choice: "auto" });
    const row = await scene.row(String(answer.headers.get("x-svc-request-id")));
    expect([row.omitted, answer.headers.get("x-svc-omitted")]).toEqual([["tools[]"], "tools[]"]);
    scene.at("openai").next({ json: responseJson() });
    await scene.gateway.call(tenant.key, "/v1/responses", { body: response({ tools: [{ type: "web_search" }] }) });
    expect(scene.at("openai").requests.at(-1)?.json).not.toHaveProperty("tools");
  });

  test("BILL-08 with the workspace's own key everything is allowed, and nothing is charged", async () => {
    const own = await scene.gateway.tenant();
    scene.at("anthropic").next({ json: { data: [] } });
    await scene.gateway.manage("PUT", `/workspaces/${own.slug}/providers/anthropic`, { key: credentialOf("own") });
    scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
    const body = message({ tools: [search], speed: "fast" });
    const answer = await scene.gateway.call(own.key, "/v1/messages", { body });
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    expect(scene.at("anthropic").requests.at(-1)?.json).toMatchObject({ tools: [search], speed: "fast" });
    scene.at("openai").next({ json: { data: [] } });
    await scene.gateway.manage("PUT", `/workspaces/${own.slug}/providers/openai`, { key: credentialOf("own") });
    scene.at("openai").next({ json: responseJson() });
    const offered = { tools: [{ type: "web_search" }] };
    expect((await scene.gateway.call(own.key, "/v1/responses", { body: response(offered) })).status).toBe(200);
    expect(scene.at("openai").requests.at(-1)?.json).toMatchObject(offered);
    expect(await scene.charges(own)).toEqual([]);
  });

  describe("other models behind an allowed one", () => {
    let own: Tenant;
    beforeEach(async () => {
      own = await scene.gateway.tenant();
      scene.at("anthropic").next({ json: { data: [] } });
      const path = `/workspaces/${own.slug}/providers/anthropic`;
      await scene.gateway.manage("PUT", path, { key: credentialOf("own"), use: "only" });
    });
    const ask = (more: Json) => scene.gateway.call(own.key, "/v1/messages", { body: message(more) });
    const allowOne = () =>
      scene.gateway.manage("PATCH", `/workspaces/${own.slug}/policy`, { allowed_models: [CLAUDE] });

    test.each<[string, Json, string]>([
      ["to fall back on", { fallbacks: [{ model: "x" }] }, "fallbacks"],
      ["to ask for advice", { tools: [{ type: "advisor_20260301", name: "a", model: "x" }] }, "tools.0.type"],
    ])("AUTH-09 POL-02 %s are refused with an own key too, once policy names models", async (_what, more, field) => {
      scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
      expect((await ask(more)).status).toBe(200);
      await allowOne();
      const before = requestCounts();
      const answer = await ask(more);
      expect([answer.status, answer.body.error.code]).toEqual([403, "model_not_permitted"]);
      expect(answer.text).toContain(field);
      expect(requestCounts()).toEqual(before);
      scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
      expect((await ask({ fallbacks: [] })).status).toBe(200);
    });

    test("AUTH-09 POL-02 and also when policy names them between two attempts", async () => {
      const [first] = requestCounts();
      scene.at("anthropic").next({ status: 503, json: {}, headers: { "retry-after": "2" } });
      const answering = ask({ fallbacks: [{ model: "x" }] });
      await expect.poll(() => requestCounts()[0]).toBe((first ?? 0) + 1);
      await allowOne();
      const answer = await answering;
      expect([answer.status, answer.body.error.code]).toEqual([403, "model_not_permitted"]);
      expect(requestCounts()[0]).toBe((first ?? 0) + 1);
    });
  });
});

describe("surcharges with a price", () => {
  let scene: Scene;
  let tenant: Tenant;
  let usdPerEur = 0;
  beforeAll(async () => {
    const anthropic = { web_search: perUse("0.01"), fast_mode: times("6") };
    const openai = { web_search: perUse("0.025"), service_tier_priority: times("2"), service_tier_flex: times("0.5") };
    scene = await openScene(["anthropic", "openai"], {
      GATEWAY_CATALOGUE_DIR: catalogueWithExtras({ anthropic, openai }),
    });
    const { data } = await scene.gateway.manage("GET", "/rates");
    usdPerEur = Number(data.find(({ currency }: Json) => currency === "USD").per_eur);
  });
  afterAll(() => scene.close());
  beforeEach(async () => {
    tenant = await scene.gateway.tenant();
  });

  const usage = { input_tokens: 100, output_tokens: 20 };
  const askMessage = async (more: Json, counts: Json = {}, content: Json[] = [{ type: "text", text: "Hi" }]) => {
    scene.at("anthropic").next({ json: { ...messageJson(content), usage: { ...usage, ...counts } } });
    const answer = await scene.gateway.call(tenant.key, "/v1/messages", { body: message(more) });
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return scene.row(String(answer.headers.get("x-svc-request-id")));
  };
  const eur = (dollars: number) => Math.round((dollars * 1e9) / usdPerEur);

  test("BILL-05 each reported use costs its price, beside the tokens", async () => {
    const plain = await askMessage({});
    const row = await askMessage(
      { tools: [search] },
      { server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 } },
    );
    expect(Number(nanosOf(row.cost) - nanosOf(plain.cost))).toBe(eur(0.02));
    const none = await askMessage({ tools: [search] }, { server_tool_use: { web_search_requests: 0 } });
    expect(none.cost).toBe(plain.cost);
  });

  test.each([20_000, 2_000_000_000, 1e300])(
    "BILL-02 BILL-05 an implausible report of %d searches is ignored: visible ones are charged",
    async (searches) => {
      const counts = { server_tool_use: { web_search_requests: searches } };
      const plain = await askMessage({});
      const used = { type: "server_tool_use", id: "st_1", name: "web_search", input: {} };
      const text = { type: "text", text: "Hi" };
      const more = (row: Json) => Number(nanosOf(row.cost) - nanosOf(plain.cost));
      expect(more(await askMessage({ tools: [search] }, counts))).toBe(0);
      const costs = [more(await askMessage({ tools: [search] }, counts, [used, text]))];
      const frames = [
        messageEvent({ type: "message_start", message: { ...messageJson([]), usage } }),
        messageEvent({ type: "content_block_start", index: 0, content_block: used }),
        messageEvent({ type: "content_block_stop", index: 0 }),
        messageEvent({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { ...usage, ...counts } }),
        messageEvent({ type: "message_stop" }),
      ];
      scene.at("anthropic").next({ frames });
      const body = message({ tools: [search], stream: true });
      const { headers } = await scene.gateway.call(tenant.key, "/v1/messages", { body });
      costs.push(more(await scene.row(String(headers.get("x-svc-request-id")))));
      // Each charge is rounded separately.
      for (const cost of costs) expect(Math.abs(cost - eur(0.01))).toBeLessThanOrEqual(1);
    },
  );

  test("BILL-05 a token surcharge multiplies the price", async () => {
    const plain = await askMessage({});
    const fast = await askMessage({ speed: "fast" });
    const difference = nanosOf(fast.cost) - 6n * nanosOf(plain.cost);
    expect(difference >= -6n && difference <= 6n).toBe(true);
    expect(nanosOf(plain.cost)).toBeGreaterThan(0n);
  });

  test("BILL-05 service_tier costs its own price, above or below the standard", async () => {
    const ask = async (more: Json) => {
      scene.at("openai").next({ json: responseJson() });
      const answer = await scene.gateway.call(tenant.key, "/v1/responses", { body: response(more) });
      expect(answer.status, answer.text).toBe(200);
      return Number(nanosOf((await scene.row(String(answer.headers.get("x-svc-request-id")))).cost));
    };
    const plain = await ask({});
    expect(plain).toBeGreaterThan(100);
    expect(Math.abs((await ask({ service_tier: "priority" })) - 2 * plain)).toBeLessThanOrEqual(2);
    expect(Math.abs((await ask({ service_tier: "flex" })) - plain / 2)).toBeLessThanOrEqual(2);
  });

  test("BILL-05 items of a response are counted, and a reused container is one use", async () => {
    const call = { id: "ws_1", type: "web_search_call", status: "completed" };
    const ask = async (output: Json[], more: Json) => {
      scene.at("openai").next({ json: { ...responseJson(), output } });
      const answer = await scene.gateway.call(tenant.key, "/v1/responses", { body: response(more) });
      expect(answer.status).toBe(200);
      return scene.row(String(answer.headers.get("x-svc-request-id")));
    };
    const plain = await ask([], {});
    const row = await ask([call, { ...call, id: "ws_2" }], { tools: [{ type: "web_search" }] });
    expect(scene.at("openai").requests.at(-1)?.json).toMatchObject({ tools: [{ type: "web_search" }] });
    expect(Number(nanosOf(row.cost) - nanosOf(plain.cost))).toBe(eur(0.05));
    const reading = ["search", "open_page", "find_in_page"].map((type) => ({ ...call, action: { type } }));
    const read = await ask(reading, { tools: [{ type: "web_search" }] });
    expect(Number(nanosOf(read.cost) - nanosOf(plain.cost))).toBe(eur(0.025));
  });

  /** Reads a stream up to this text, then disconnects. */
  const leaveAfter = async (word: string, path: string, body: Json) => {
    const left = new AbortController();
    const answer = await fetch(`${scene.gateway.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
      body: JSON.stringify({ ...body, stream: true }),
      signal: left.signal,
    });
    let text = "";
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes(word)) break;
    }
    left.abort();
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row).toMatchObject({ status: 499, error_code: "client_disconnected" });
    return nanosOf(row.cost);
  };
  const waiting = (frames: readonly string[]) => ({
    frames,
    end: { is: "stall", after: Buffer.byteLength(frames.join("")) } as const,
  });

  test("BILL-05 CHAT-09 a client that disconnects before the usage pays for searches that were begun", async () => {
    const used = { type: "server_tool_use", id: "st_1", name: "web_search", input: {} };
    const begin = (index: number, block: Json) =>
      messageEvent({ type: "content_block_start", index, content_block: block });
    const head = { ...messageJson([]), usage: { ...usage, server_tool_use: { web_search_requests: 0 } } };
    const frames = [
      messageEvent({ type: "message_start", message: head }),
      begin(0, used),
      messageEvent({ type: "content_block_stop", index: 0 }),
      begin(1, { ...used, id: "st_2" }),
      messageEvent({ type: "content_block_stop", index: 1 }),
      begin(2, { type: "text", text: "" }),
      messageEvent({ type: "content_block_delta", index: 2, delta: { type: "text_delta", text: "found" } }),
    ];
    scene.at("anthropic").next(waiting(frames));
    const cost = await leaveAfter("found", "/v1/messages", message({ tools: [search] }));
    expect(Number(cost)).toBeGreaterThanOrEqual(eur(0.02));

    tenant = await scene.gateway.tenant();
    const call = { type: "web_search_call", status: "in_progress" };
    const searched = ["ws_1", "ws_2"].map((id, at) =>
      frameOf({ type: "response.output_item.added", output_index: at, item: { ...call, id } }),
    );
    const [created = "", ...rest] = responseFrames(["found"]);
    scene.at("openai").next(waiting([created, ...searched, ...rest.slice(0, 4)]));
    const request = response({ tools: [{ type: "web_search" }], max_output_tokens: 100 });
    expect(Number(await leaveAfter("found", "/v1/responses", request))).toBeGreaterThanOrEqual(eur(0.05));
  });

  test("BILL-05 CHAT-09 opening pages after a search is no search, whether or not the client disconnects", async () => {
    const items = ["search", "open_page", "open_page", "find_in_page", "open_page"].map((type, at) => ({
      id: `ws_${at}`,
      type: "web_search_call",
      status: "completed",
      action: { type },
    }));
    const searchFrames = items.flatMap(({ action: _, ...begun }, at) => [
      frameOf({ type: "response.output_item.added", output_index: at, item: { ...begun, status: "in_progress" } }),
      frameOf({ type: "response.output_item.done", output_index: at, item: items[at] }),
    ]);
    const request = response({ tools: [{ type: "web_search" }], max_output_tokens: 100 });
    const costs: number[] = [];
    for (const searched of [[], searchFrames]) {
      tenant = await scene.gateway.tenant();
      const [created = "", ...rest] = responseFrames(["found"]);
      scene.at("openai").next(waiting([created, ...searched, ...rest.slice(0, 4)]));
      costs.push(Number(await leaveAfter("found", "/v1/responses", request)));
    }
    for (const output of [[], items]) {
      const [created = "", ...rest] = responseFrames(["found"], { output });
      scene.at("openai").next({ frames: [created, ...(output.length === 0 ? [] : searchFrames), ...rest] });
      const answer = await scene.gateway.call(tenant.key, "/v1/responses", { body: { ...request, stream: true } });
      costs.push(Number(nanosOf((await scene.row(String(answer.headers.get("x-svc-request-id")))).cost)));
    }
    const [left = 0, leftSearching = 0, stayed = 0, stayedSearching = 0] = costs;
    // Each charge is rounded separately.
    for (const more of [leftSearching - left, stayedSearching - stayed])
      expect(Math.abs(more - eur(0.025))).toBeLessThanOrEqual(1);
  });

  test("BILL-03 the hold covers possible surcharges", async () => {
    const poor = await scene.gateway.tenant({ credit: "0.01" });
    const refused = await scene.gateway.call(poor.key, "/v1/messages", { body: message({ tools: [search] }) });
    expect(refused.status).toBe(402);
    scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
    expect((await scene.gateway.call(poor.key, "/v1/messages", { body: message({}) })).status).toBe(200);
  });
});

test("BILL-05 MSG-01 RESP-01 the catalogue prices searches of Claude and OpenAI reasoning models; fetches cost tokens", async () => {
  const scene = await openScene(["anthropic", "openai"]);
  const { key } = await scene.gateway.tenant();
  const tools = [search, { type: "web_fetch_20260318", name: "web_fetch" }];
  scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
  expect((await scene.gateway.call(key, "/v1/messages", { body: message({ tools }) })).status).toBe(200);
  expect(scene.at("anthropic").requests.at(-1)?.json).toMatchObject({ tools });
  scene.at("openai").next({ json: responseJson() });
  const body = response({ tools: [{ type: "web_search" }] });
  expect((await scene.gateway.call(key, "/v1/responses", { body })).status).toBe(200);
  expect(scene.at("openai").requests.at(-1)?.json).toMatchObject({ tools: [{ type: "web_search" }] });
  await scene.close();
});
