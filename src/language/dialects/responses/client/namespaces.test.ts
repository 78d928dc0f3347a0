import { describe, expect, test } from "vitest";
import { ResponsesRequest } from "../../../../contract/schemas/responses.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Usage } from "../../../canon/usage.ts";
import { responsesClient } from "./dialect.ts";
import { echoOf } from "./echo.ts";
import { flatName } from "./namespaces.ts";
import { decodeRequest } from "./request.ts";
import { inputItems } from "./turns.ts";

const TOOLS = [
  { type: "function", name: "close", parameters: { type: "object", properties: {} } },
  {
    type: "namespace",
    name: "agents",
    tools: [
      { type: "function", name: "close", strict: false, parameters: { type: "object", properties: {} } },
      { type: "custom", name: "note" },
    ],
  },
];

const NO_USAGE: Usage = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};

function decode(more: JsonObject = {}) {
  const request = ResponsesRequest.parse({ model: "m", input: "Hi", tools: TOOLS, ...more });
  return { request, call: decodeRequest(request, inputItems(request)) };
}

describe("namespaces", () => {
  test("RESP-02 become one flat list for other dialects, without duplicates", () => {
    const { call } = decode();
    expect(call.tools.map(({ name }) => name)).toEqual(["close", "agents__close", "agents__note"]);
    expect(call.native).toEqual([]);
    expect(flatName("mcp__server__", "read")).toBe("mcp__server__read");
  });

  test("RESP-02 can be chosen, and unsupported choices are rejected with their path", () => {
    const choice = { type: "function", name: "close", namespace: "agents" };
    expect(decode({ tool_choice: choice }).call.toolChoice).toEqual({ is: "named", name: "agents__close" });
    const only = { type: "allowed_tools", mode: "auto", tools: [choice] };
    expect(decode({ tool_choice: only }).call.tools.map(({ name }) => name)).toEqual(["agents__close"]);
    const odd = [{ type: "namespace", name: "agents", tools: [{ type: "computer" }] }];
    expect(decode({ tools: odd }).call.native).toEqual(["tools.0.tools.0.type"]);
  });

  test("RESP-02 are restored in calls, and the call decodes to the same", () => {
    const { request, call } = decode();
    const client = responsesClient(echoOf(request, { store: false, background: false }), "shown");
    const head = { id: "resp_0a", createdSeconds: 0, model: "m", inputTokens: 1 };
    const writer = client.openWriter(head, call);
    const names = ["close", "agents__close", "agents__note"];
    for (const [index, name] of names.entries()) {
      writer.write({ is: "tool_call", index, id: `call_${index}`, name, signature: null });
      writer.write({ is: "tool_arguments", index, text: '{"input":"x"}' });
    }
    const finish = { is: "finish" as const, reason: "tool_calls" as const };
    writer.close({ finish, usage: NO_USAGE, cost: undefined });
    const { output } = JSON.parse(writer.finalJson ?? "");
    expect(output).toMatchObject([
      { type: "function_call", name: "close" },
      { type: "function_call", name: "close", namespace: "agents" },
      { type: "custom_tool_call", name: "note", namespace: "agents", input: "x" },
    ]);
    expect(output[0]).not.toHaveProperty("namespace");
    const [turn] = decode({ input: output }).call.turns;
    expect(turn?.parts.map((part) => (part.is === "tool_call" ? part.name : part.is))).toEqual(names);
  });
});
