import { describe, expect, test } from "vitest";
import {
  bodyOf,
  call,
  callOf,
  FACTS,
  HELLO,
  LOOP,
  NOVA,
  refusalOf,
  result,
  tool,
  user,
} from "../../../../../tests/support/converse.ts";
import type { ReasoningControl } from "../../../canon/reasoning-control.ts";
import { converseUpstream } from "./dialect.ts";
import { encodeRequest } from "./request.ts";

describe("tools", () => {
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

  test("CHAT-03 definitions always have a schema", () => {
    const tools = [tool("weather", { description: "Tells it", parameters: schema }), tool("now")];
    expect(bodyOf({ tools }).toolConfig).toEqual({
      tools: [
        { toolSpec: { name: "weather", description: "Tells it", inputSchema: { json: schema } } },
        { toolSpec: { name: "now", inputSchema: { json: { type: "object", properties: {} } } } },
      ],
    });
  });

  test("CHAT-03 strict is kept if the endpoint supports it", () => {
    const tools = [tool("weather", { parameters: schema, strict: true })];
    const spec = bodyOf({ tools }).toolConfig.tools[0].toolSpec;
    expect(spec).toMatchObject({ strict: true, inputSchema: { json: { additionalProperties: false } } });
    expect(bodyOf({ tools }, NOVA).toolConfig.tools[0].toolSpec).toEqual({
      name: "weather",
      inputSchema: { json: schema },
    });
  });

  test.each([
    ["auto", { auto: {} }],
    ["required", { any: {} }],
    [{ type: "function", function: { name: "weather" } }, { tool: { name: "weather" } }],
  ])("CHAT-03 tool_choice %o", (tool_choice, wire) => {
    expect(bodyOf({ tools: [tool("weather")], tool_choice }).toolConfig.toolChoice).toEqual(wire);
  });

  test("CHAT-03 tool_choice none drops the tools, or with tool history becomes an instruction", () => {
    const none = { tools: [tool("weather")], tool_choice: "none" };
    expect(bodyOf(none)).toEqual(bodyOf({}));
    const body = bodyOf({ ...none, messages: LOOP });
    expect(body.toolConfig).toEqual({
      tools: [{ toolSpec: { name: "weather", inputSchema: { json: { type: "object", properties: {} } } } }],
    });
    expect(body.system).toEqual([{ text: expect.stringContaining("not call any tool") }]);
  });

  test("CHAT-03 a conversation with calls defines tools even if the caller sent none", () => {
    const body = bodyOf({ messages: LOOP });
    expect(body.toolConfig).toEqual({
      tools: [{ toolSpec: { name: "weather", inputSchema: { json: { type: "object" } } } }],
    });
  });

  test("CHAT-03 calls have object arguments; all results of a turn are in one user message before its text", () => {
    const { messages } = bodyOf({
      messages: [
        user("both?"),
        {
          role: "assistant",
          content: "I look.",
          tool_calls: [call("call_1", "weather", '{"city":"Paris"}'), call("call_2", "now", "")],
        },
        { role: "system", content: "mind the units" },
        result("call_2", "noon"),
        result("call_1", [
          { type: "text", text: "sunny" },
          { type: "text", text: "" },
        ]),
        user("and?"),
      ],
      tools: [tool("weather"), tool("now")],
    });
    expect(messages[1].content).toEqual([
      { text: "I look." },
      { toolUse: { toolUseId: "call_1", name: "weather", input: { city: "Paris" } } },
      { toolUse: { toolUseId: "call_2", name: "now", input: {} } },
    ]);
    expect(messages[2]).toEqual({
      role: "user",
      content: [
        { toolResult: { toolUseId: "call_2", content: [{ text: "noon" }] } },
        { toolResult: { toolUseId: "call_1", content: [{ text: "sunny" }] } },
        { text: "mind the units" },
        { text: "and?" },
      ],
    });
    expect(messages).toHaveLength(3);
  });

  test("CHAT-03 numbers in arguments keep every digit", () => {
    const args = '{"big":12345678901234567890,"one":1.0}';
    const text = encodeRequest(
      callOf({ messages: [user("a"), { role: "assistant", tool_calls: [call("c", "f", args)] }, result("c", "x")] }),
      FACTS,
    );
    expect(text).toContain(args);
  });

  test("CHAT-03 an empty result gets a placeholder text", () => {
    const [first, second] = LOOP;
    const { messages } = bodyOf({ messages: [first, second, result("call_1", "")] });
    expect(messages[2].content[0].toolResult.content).toEqual([{ text: expect.stringMatching(/\S/) }]);
  });

  test("CHAT-03 ids are mapped to the allowed alphabet, alike for call and result, without collisions", () => {
    const ids = ["functions.f:0", "x".repeat(100), `${"x".repeat(100)}y`, "tooluse_ok-1"];
    const { messages } = bodyOf({
      messages: [
        user("go"),
        { role: "assistant", tool_calls: ids.map((id) => call(id, "f", "{}")) },
        ...ids.map((id) => result(id, "r")),
      ],
    });
    const sent = messages[1].content.map((block: { toolUse: { toolUseId: string } }) => block.toolUse.toolUseId);
    for (const id of sent) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(new Set(sent).size).toBe(ids.length);
    expect(sent[3]).toBe("tooluse_ok-1");
    const answered = messages[2].content.map((b: { toolResult: { toolUseId: string } }) => b.toolResult.toolUseId);
    expect(answered).toEqual(sent);
  });

  test.each(["[1]", "not json", '"text"', "1.0", '{"a":'])(
    "CHAT-03 arguments that are not an object are rejected: %s",
    (args) => {
      const messages = [user("a"), { role: "assistant", tool_calls: [call("a", "f", "{}"), call("b", "f", args)] }];
      expect(refusalOf({ messages: [...messages, result("a", "x"), result("b", "x")] })).toEqual({
        code: "invalid_value",
        param: "messages.1.tool_calls.1.function.arguments",
      });
    },
  );

  test("CHAT-03 a call without a result and a result without a call are rejected with their path", () => {
    const [first, second] = LOOP;
    expect(refusalOf({ messages: [first, second] }).param).toBe("messages.1.tool_calls.0");
    expect(refusalOf({ messages: [first, second, user("so?")] }).param).toBe("messages.1.tool_calls.0");
    const late = [first, second, user("so?"), { role: "assistant", content: "Well." }, result("call_1", "x")];
    expect(refusalOf({ messages: late }).param).toBe("messages.1.tool_calls.0");
    expect(refusalOf({ messages: [...LOOP, result("call_1", "twice")] }).param).toBe("messages.3.tool_call_id");
    expect(refusalOf({ messages: [user("a"), result("call_9", "x")] }).param).toBe("messages.1.tool_call_id");
  });

  test("CHAT-03 an invalid tool name is rejected with its path", () => {
    expect(refusalOf({ tools: [tool("fine"), tool("not.fine")] })).toEqual({
      code: "invalid_value",
      param: "tools.1.function.name",
    });
  });
});

describe("response_format", () => {
  const schema = { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] };
  const response_format = { type: "json_schema", json_schema: { name: "Count", description: "A count", schema } };

  test("CHAT-04 json_schema: the schema is sent as text", () => {
    const { textFormat } = bodyOf({ response_format }).outputConfig;
    expect(textFormat).toMatchObject({
      type: "json_schema",
      structure: { jsonSchema: { name: "Count", description: "A count", schema: expect.any(String) } },
    });
    expect(JSON.parse(textFormat.structure.jsonSchema.schema)).toMatchObject({
      type: "object",
      required: ["n"],
      additionalProperties: false,
    });
  });

  test("CHAT-04 json_schema without a schema field becomes a forced tool", () => {
    const body = bodyOf({ response_format }, NOVA);
    expect(body).not.toHaveProperty("outputConfig");
    const [answer] = body.toolConfig.tools;
    expect(answer.toolSpec).toMatchObject({ description: "A count", inputSchema: { json: schema } });
    expect(body.toolConfig.toolChoice).toEqual({ tool: { name: answer.toolSpec.name } });
  });

  test("CHAT-04 … beside the caller's tools the model chooses; a forced call precedes the reply", () => {
    const tools = [tool("weather")];
    const both = bodyOf({ response_format, tools }, NOVA).toolConfig;
    expect(both.tools).toHaveLength(2);
    expect(both.toolChoice).toEqual({ any: {} });
    expect(bodyOf({ response_format, tools, tool_choice: "none" }, NOVA).toolConfig.tools).toHaveLength(1);
    expect(bodyOf({ response_format, tools, tool_choice: "required" }, NOVA).toolConfig).toMatchObject({
      tools: [{ toolSpec: { name: "weather" } }],
      toolChoice: { any: {} },
    });
    const named = { type: "function", function: { name: "weather" } };
    expect(bodyOf({ response_format, tools, tool_choice: named }, NOVA).toolConfig).toMatchObject({
      tools: [{ toolSpec: { name: "weather" } }],
      toolChoice: { tool: { name: "weather" } },
    });
    const loose = { type: "json_schema", json_schema: { name: "L", schema: { properties: {} } } };
    const [answer] = bodyOf({ response_format: loose }, NOVA).toolConfig.tools;
    expect(answer.toolSpec.inputSchema.json).toEqual({ type: "object", properties: {} });
    const list = { type: "json_schema", json_schema: { name: "L", schema: { type: "array" } } };
    expect(refusalOf({ response_format: list }, NOVA).param).toBe("response_format.json_schema.schema");
  });

  test("CHAT-04 json_object becomes an instruction", () => {
    const body = bodyOf({
      messages: [{ role: "system", content: "s" }, ...HELLO],
      response_format: { type: "json_object" },
    });
    expect(body.system).toEqual([{ text: "s" }, { text: expect.stringContaining("JSON object") }]);
    expect(bodyOf({ response_format: { type: "text" } })).toEqual(bodyOf({}));
  });
});

describe("reasoning", () => {
  const fieldsOf = (more: Record<string, unknown>, thinking: ReasoningControl | null) =>
    bodyOf(more, { ...FACTS, thinking }).additionalModelRequestFields;

  test("CHAT-05 a budget, and a limit that leaves room for the reply", () => {
    const body = bodyOf({ reasoning_effort: "low" });
    expect(body.additionalModelRequestFields).toEqual({ thinking: { type: "enabled", budget_tokens: 2048 } });
    expect(body.inferenceConfig.maxTokens).toBe(64_000);
    const small = bodyOf({ reasoning_effort: "high", max_tokens: 4000 });
    expect(small.additionalModelRequestFields.thinking.budget_tokens).toBeLessThan(small.inferenceConfig.maxTokens);
    expect(bodyOf({ thinking: { type: "enabled", budget_tokens: 5000 } }).additionalModelRequestFields).toEqual({
      thinking: { type: "enabled", budget_tokens: 5000 },
    });
  });

  test.each([
    [
      "adaptive",
      "minimal",
      { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "low" } },
    ],
    ["always", "max", { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "max" } }],
    ["adaptive", "none", { thinking: { type: "disabled" } }],
    ["between_tools", "none", { thinking: { type: "between_tools" } }],
    ["nova", "xhigh", { reasoningConfig: { type: "enabled", maxReasoningEffort: "high" } }],
    ["nova", "none", undefined],
    ["effort", "minimal", { reasoning_effort: "low" }],
  ] as const)("CHAT-05 a model controlled by %s, effort %s", (thinking, reasoning_effort, fields) => {
    expect(fieldsOf({ reasoning_effort }, thinking)).toEqual(fields);
  });

  test.each([
    ["nova", "none"],
    ["nova", "low"],
    ["effort", "low"],
    ["adaptive", "high"],
  ] as const)("CHAT-05 HDR-06 a limit stays beside the control %s: %s", (thinking, reasoning_effort) => {
    const facts = { ...FACTS, thinking };
    const asked = { reasoning_effort, max_tokens: 4000 };
    expect(bodyOf(asked, facts).inferenceConfig).toEqual({ maxTokens: 4000 });
    expect(fieldsOf(asked, thinking)).toEqual(fieldsOf({ reasoning_effort }, thinking));
    expect(converseUpstream.effort?.(callOf(asked), facts)).toBe(reasoning_effort);
  });

  test("CHAT-05 without an effort no reasoning field is sent", () => {
    for (const thinking of ["budget", "adaptive", "nova", "effort", "fixed", null] as const)
      expect(fieldsOf({}, thinking)).toBeUndefined();
  });

  test.each([
    ["fixed", "low"],
    ["effort", "none"],
    ["always", "none"],
  ] as const)("CHAT-05 what the control %s cannot express is rejected: %s", (thinking, reasoning_effort) => {
    expect(refusalOf({ reasoning_effort }, { ...FACTS, thinking })).toEqual({
      code: "unsupported_parameter",
      param: "reasoning_effort",
    });
  });

  const sealed = [
    { type: "reasoning.text", text: "hm", signature: "sig==", format: "anthropic-claude-v1", index: 0 },
    { type: "reasoning.encrypted", data: "RWV5", format: "anthropic-claude-v1", index: 1 },
  ];
  const thought = (reasoning_details: unknown) => [
    user("go"),
    { role: "assistant", content: null, reasoning_details, tool_calls: [call("call_1", "f", "{}")] },
    result("call_1", "done"),
  ];

  test("CHAT-05 signed blocks are returned in place and unchanged; redacted ones as base64", () => {
    const body = bodyOf({ messages: thought(sealed), reasoning_effort: "low" });
    expect(body.messages[1].content).toEqual([
      { reasoningContent: { reasoningText: { text: "hm", signature: "sig==" } } },
      { reasoningContent: { redactedContent: Buffer.from("RWV5").toString("base64") } },
      { toolUse: { toolUseId: "call_1", name: "f", input: {} } },
    ]);
    expect(body.additionalModelRequestFields.thinking.type).toBe("enabled");
  });

  test("CHAT-05 foreign signatures and unsigned reasoning are dropped, and Claude's for other models", () => {
    const foreign = [{ type: "reasoning.encrypted", data: "x", format: "openai-responses-v1" }];
    const open = [{ type: "reasoning.text", text: "hm" }];
    for (const details of [foreign, open])
      expect(bodyOf({ messages: thought(details) }).messages[1].content).toHaveLength(1);
    for (const thinking of ["nova", "effort", "fixed"] as const)
      expect(bodyOf({ messages: thought(sealed) }, { ...FACTS, thinking }).messages[1].content).toHaveLength(1);
  });

  test("CHAT-05 in a tool loop without its own reasoning the model continues without reasoning", () => {
    expect(fieldsOf({ messages: thought([]), reasoning_effort: "low" }, "budget")).toEqual({
      thinking: { type: "disabled" },
    });
  });
});
