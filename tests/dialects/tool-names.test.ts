import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS as CHAT_COLUMNS } from "../support/dialect-scripts.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { foldMessage } from "../support/message-stream.ts";
import { foldResponse, responseEvents } from "../support/responses-fold.ts";
import { RESPONSES_COLUMN, responsesAlone } from "../support/responses-script.ts";
import { openScene, type Scene } from "../support/scene.ts";

const COLUMNS = { ...CHAT_COLUMNS, responses: RESPONSES_COLUMN } as const;
type Dialect = keyof typeof COLUMNS;

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  const providers = Object.values(COLUMNS).map(({ provider }) => provider);
  scene = await openScene(providers, responsesAlone());
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const SERVER = "mcp__plugin_chrome-devtools-mcp_chrome-devtools__performance";
const LONG = `${SERVER}_analyze_insight`;
const TWIN = `${SERVER}_analyze_insights`;
const SHORT = /^mcp__plugi_[0-9a-f]{12}_[a-z-]+__performance_analyze_insights?$/;

const TOOLS = [LONG, TWIN, "weather"].map((name) => ({ name, input_schema: { type: "object" } }));
const HISTORY = [
  { role: "user", content: "Look." },
  { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: LONG, input: {} }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "slow" }] },
];

const sentTo = (dialect: Dialect): Json => scene.at(COLUMNS[dialect].provider).requests.at(-1)?.json;

/** Every field of a request that names a tool: offered tools, tool choice, earlier calls and results. */
const TOOL_NAMES: Readonly<Record<Exclude<Dialect, "D2">, (sent: Json) => { offered: string[]; others: string[] }>> = {
  D1: ({ tools, tool_choice, messages }) => ({
    offered: tools.map((tool: Json) => tool.function.name),
    others: [
      tool_choice.function.name,
      messages.find((message: Json) => message.tool_calls !== undefined).tool_calls[0].function.name,
    ],
  }),
  D3: ({ tools, toolConfig, contents }) => ({
    offered: tools[0].functionDeclarations.map(({ name }: Json) => name),
    others: [
      toolConfig.functionCallingConfig.allowedFunctionNames[0],
      contents[1].parts[0].functionCall.name,
      contents[2].parts[0].functionResponse.name,
    ],
  }),
  D4: ({ toolConfig, messages }) => ({
    offered: toolConfig.tools.map(({ toolSpec }: Json) => toolSpec.name),
    others: [toolConfig.toolChoice.tool.name, messages[1].content[0].toolUse.name],
  }),
  responses: ({ tools, tool_choice, input }) => ({
    offered: tools.map(({ name }: Json) => name),
    others: [tool_choice.name, input.find(({ type }: Json) => type === "function_call").name],
  }),
};

describe.each(["D1", "D3", "D4", "responses"] as const)("%s", (dialect) => {
  const { provider, model, whole, streamed } = COLUMNS[dialect];
  const ask = async (more: object = {}) => {
    const body = { model, max_tokens: 100, messages: HISTORY, tools: TOOLS, ...more };
    const answer = await scene.gateway.call(tenant.key, "/v1/messages", { body });
    expect(answer.status, answer.text).toBe(200);
    return answer;
  };

  test("MSG-02 a tool name that is too long for the provider is shortened wherever it occurs", async () => {
    scene.at(provider).next(whole({ text: "Hello" }));
    await ask({ tool_choice: { type: "tool", name: LONG } });
    const { offered, others } = TOOL_NAMES[dialect](sentTo(dialect));
    expect(offered).toEqual([expect.stringMatching(SHORT), expect.stringMatching(SHORT), "weather"]);
    expect(offered.map(({ length }) => length)).toEqual([64, 64, 7]);
    expect(new Set(offered).size).toBe(3);
    expect(new Set(others)).toEqual(new Set([offered[0]]));
  });

  test("MSG-02 its calls are returned under the original name, whole and in a stream", async () => {
    scene.at(provider).next(whole({ text: "Hello" }));
    await ask({ tool_choice: { type: "tool", name: LONG } });
    const [short = "", twin = ""] = TOOL_NAMES[dialect](sentTo(dialect)).offered;
    const calls = [short, twin, "weather"].map((name, at) => ({ id: `call_${at}`, name, input: { at } }));
    const called = ({ content }: Json) =>
      content.filter(({ type }: Json) => type === "tool_use").map(({ name, input }: Json) => [name, input.at]);
    const expected = [LONG, TWIN, "weather"].map((name, at) => [name, at]);
    scene.at(provider).next(whole({ calls }));
    expect(called((await ask()).body)).toEqual(expected);
    scene.at(provider).next(streamed({ calls }));
    expect(called(foldMessage((await ask({ stream: true })).text))).toEqual(expected);
  });
});

describe("callers of responses", () => {
  const group = (name: string) => ({ type: "namespace", name, tools: [{ type: "function", name: "read" }] });
  const longGroup = (end: string) => `mcp__${"plugin_of_a_long_name_".repeat(4)}${end}`;
  const tools = [group(longGroup("one")), group(longGroup("two")), { type: "function", name: LONG }];

  test("RESP-02 groups with long names stay distinct, and calls are returned with both names", async () => {
    const { provider, model, whole, streamed } = COLUMNS.D1;
    const ask = (more: object = {}) =>
      scene.gateway.call(tenant.key, "/v1/responses", {
        body: { model, input: "Hi", store: false, tools, ...more },
      });
    scene.at(provider).next(whole({ text: "Hello" }));
    expect((await ask()).status).toBe(200);
    const offered: string[] = sentTo("D1").tools.map((tool: Json) => tool.function.name);
    expect(new Set(offered).size).toBe(3);
    for (const name of offered) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    const calls = offered.map((name, at) => ({ id: `call_${at}`, name, input: {} }));
    const named = (output: Json[]) => output.map(({ name, namespace }) => [namespace, name]);
    const expected = [
      [longGroup("one"), "read"],
      [longGroup("two"), "read"],
      [undefined, LONG],
    ];
    scene.at(provider).next(whole({ calls }));
    const { output } = (await ask()).body;
    expect(named(output)).toEqual(expected);
    scene.at(provider).next(streamed({ calls }));
    expect(named(foldResponse(responseEvents((await ask({ stream: true })).text)).output)).toEqual(expected);
    scene.at(provider).next(whole({ text: "Done." }));
    const results = output.map(({ call_id }: Json) => ({ type: "function_call_output", call_id, output: "x" }));
    expect((await ask({ input: [{ role: "user", content: "Hi" }, ...output, ...results] })).status).toBe(200);
    const { tool_calls } = sentTo("D1").messages.find((message: Json) => message.tool_calls !== undefined);
    expect(tool_calls.map((call: Json) => call.function.name)).toEqual(offered);
  });

  test("RESP-02 a dialect that accepts the name receives it", async () => {
    const { provider, model, whole } = COLUMNS.D2;
    scene.at(provider).next(whole({ text: "Hello" }));
    const body = { model, input: "Hi", store: false, tools };
    expect((await scene.gateway.call(tenant.key, "/v1/responses", { body })).status).toBe(200);
    expect(sentTo("D2").tools.map(({ name }: Json) => name)).toEqual([
      `${longGroup("one")}__read`,
      `${longGroup("two")}__read`,
      LONG,
    ]);
  });
});
