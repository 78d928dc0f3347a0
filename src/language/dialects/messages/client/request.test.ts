import { describe, expect, test } from "vitest";
import { MessagesRequest } from "../../../../contract/schemas/messages.ts";
import type { Call } from "../../../canon/call.ts";
import { decodeRequest } from "./request.ts";

const ASKED = { model: "some/model", max_tokens: 100, messages: [{ role: "user", content: "Hi" }] };

function decoded(more: Record<string, unknown>): Call {
  return decodeRequest(MessagesRequest.parse({ ...ASKED, ...more }));
}

const userSays = (...content: unknown[]) => decoded({ messages: [{ role: "user", content }] });
const assistantSaid = (...content: unknown[]) => decoded({ messages: [{ role: "assistant", content }] });
const partsOf = (call: Call) => call.turns.flatMap(({ parts }) => parts);

describe("the conversation", () => {
  test("MSG-02 text as a string and as blocks, a system prompt in both forms, later instructions", () => {
    const call = decoded({
      system: [
        { type: "text", text: "Be brief.", cache_control: { type: "ephemeral", ttl: "1h" } },
        { type: "text", text: "Be kind." },
      ],
      messages: [
        { role: "user", content: [{ type: "text", text: "Hi" }] },
        { role: "system", content: "Now in French." },
        { role: "assistant", content: "Salut" },
      ],
    });
    expect(call.turns).toEqual([
      {
        role: "system",
        parts: [
          { is: "text", text: "Be brief.", cache: { ttl: "1h" } },
          { is: "text", text: "Be kind." },
        ],
      },
      { role: "user", parts: [{ is: "text", text: "Hi" }] },
      { role: "system", parts: [{ is: "text", text: "Now in French." }] },
      { role: "assistant", parts: [{ is: "text", text: "Salut" }] },
    ]);
    expect(decoded({ system: "Be brief." }).turns[0]).toEqual({
      role: "system",
      parts: [{ is: "text", text: "Be brief." }],
    });
    expect(decoded({ system: "" }).turns).toHaveLength(1);
    expect([call.native, call.advisory]).toEqual([[], []]);
  });

  test("MSG-02 the billing line of a coding client is dropped and reported", () => {
    const call = decoded({
      system: [
        { type: "text", text: "x-anthropic-billing-header: cc_version=1; cch=abc;" },
        { type: "text", text: "You help." },
      ],
    });
    expect(call.turns[0]?.parts).toEqual([{ is: "text", text: "You help." }]);
    expect(call.advisory).toEqual(["system[]"]);
  });

  test("MSG-02 images as base64, by URL and by file id", () => {
    const call = userSays(
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBO" } },
      { type: "image", source: { type: "url", url: "https://example.eu/a.png" }, cache_control: { type: "ephemeral" } },
      { type: "image", source: { type: "file", file_id: "file_1" } },
    );
    expect(partsOf(call)).toEqual([
      { is: "image", source: { is: "inline", mediaType: "image/png", base64: "iVBO" } },
      { is: "image", source: { is: "url", url: "https://example.eu/a.png" }, cache: { ttl: null } },
      { is: "image", source: { is: "uploaded", id: "file_1" } },
    ]);
  });

  test("MSG-02 documents: a PDF is a file, text is text, several blocks are several parts", () => {
    const pdf = { type: "base64", media_type: "application/pdf", data: "JVBE" };
    const call = userSays(
      { type: "document", source: pdf, title: "a.pdf", context: "An old one." },
      { type: "document", source: { type: "url", url: "https://example.eu/b.pdf" } },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "Words" }, title: "T", context: "C" },
      {
        type: "document",
        source: {
          type: "content",
          content: [
            { type: "text", text: "One" },
            { type: "text", text: "Two" },
          ],
        },
      },
      { type: "document", source: { type: "content", content: "Three" }, citations: { enabled: false } },
    );
    expect(partsOf(call)).toEqual([
      { is: "text", text: "An old one." },
      { is: "file", source: { is: "inline", mediaType: "application/pdf", base64: "JVBE" }, filename: "a.pdf" },
      { is: "file", source: { is: "url", url: "https://example.eu/b.pdf" }, filename: null },
      { is: "text", text: "T\nC" },
      { is: "text", text: "Words" },
      { is: "text", text: "One" },
      { is: "text", text: "Two" },
      { is: "text", text: "Three" },
    ]);
    expect(call.native).toEqual([]);
  });

  test("MSG-02 cache breakpoints stay on texts, documents and results", () => {
    const mark = { cache_control: { type: "ephemeral" } };
    const plain = { type: "text", media_type: "text/plain", data: "b" };
    const pdf = { type: "base64", media_type: "application/pdf", data: "JVBE" };
    const call = userSays(
      { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "r", ...mark }], ...mark },
      { type: "text", text: "a", ...mark },
      { type: "document", source: plain, ...mark },
      { type: "document", source: pdf, ...mark },
    );
    const cache = { ttl: null };
    expect(partsOf(call)).toMatchObject([
      { is: "tool_result", content: [{ cache }], cache },
      { is: "text", text: "a", cache },
      { is: "text", text: "b", cache },
      { is: "file", cache },
    ]);
  });

  test("MSG-02 tool calls and their results: text, images, errors, empty", () => {
    const call = decoded({
      messages: [
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "toolu_1", name: "get", input: { a: [1] }, caller: { type: "direct" } }],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "toolu_1", content: "fine" },
            {
              type: "tool_result",
              tool_use_id: "toolu_2",
              is_error: true,
              content: [
                { type: "text", text: "see" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBO" } },
              ],
            },
            { type: "tool_result", tool_use_id: "toolu_3" },
            { type: "text", text: "Go on." },
          ],
        },
      ],
    });
    expect(partsOf(call)).toEqual([
      { is: "tool_call", id: "toolu_1", name: "get", argumentsText: '{"a":[1]}' },
      { is: "tool_result", callId: "toolu_1", content: [{ is: "text", text: "fine" }], failed: false },
      {
        is: "tool_result",
        callId: "toolu_2",
        content: [
          { is: "text", text: "see" },
          { is: "image", source: { is: "inline", mediaType: "image/png", base64: "iVBO" } },
        ],
        failed: true,
      },
      { is: "tool_result", callId: "toolu_3", content: [], failed: false },
      { is: "text", text: "Go on." },
    ]);
    expect(call.native).toEqual([]);
  });

  test("MSG-02 documents in a tool result: text is text, anything else is native", () => {
    const result = (content: unknown[]) =>
      decoded({ messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content }] }] });
    const text = { type: "document", title: "T", source: { type: "text", media_type: "text/plain", data: "words" } };
    const called = result([{ type: "text", text: "see" }, text]);
    expect(called.turns[0]?.parts).toEqual([
      {
        is: "tool_result",
        callId: "a",
        content: [
          { is: "text", text: "see" },
          { is: "text", text: "T" },
          { is: "text", text: "words" },
        ],
        failed: false,
      },
    ]);
    expect(called.native).toEqual([]);
    const pdf = { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } };
    expect(result([pdf]).native).toEqual(["messages.0.content.0.content.0"]);
    expect(result([{ type: "document", source: 7 }]).native).toEqual(["messages.0.content.0.content.0"]);
  });

  test("MSG-02 thinking keeps its signature, or has none", () => {
    const call = assistantSaid(
      { type: "thinking", thinking: "Hm", signature: "c2ln" },
      { type: "thinking", thinking: "Well", signature: "" },
      { type: "thinking", thinking: "So", signature: "svc:block:openai:ZW5j" },
      { type: "redacted_thinking", data: "b3BhcXVl" },
      { type: "redacted_thinking", data: "svc:block:google:c2VhbA==" },
      { type: "redacted_thinking", data: "svc:call:google:Y2FsbA==" },
      { type: "tool_use", id: "a", name: "get", input: {} },
      { type: "tool_use", id: "b", name: "get", input: {} },
    );
    expect(partsOf(call)).toEqual([
      { is: "reasoning", detail: { is: "readable", text: "Hm", signature: { family: "anthropic", data: "c2ln" } } },
      { is: "reasoning", detail: { is: "readable", text: "Well", signature: null } },
      { is: "reasoning", detail: { is: "readable", text: "So", signature: { family: "openai", data: "ZW5j" } } },
      { is: "reasoning", detail: { is: "encrypted", signature: { family: "anthropic", data: "b3BhcXVl" } } },
      { is: "reasoning", detail: { is: "encrypted", signature: { family: "google", data: "c2VhbA==" } } },
      { is: "tool_call", id: "a", name: "get", argumentsText: "{}", signature: { family: "google", data: "Y2FsbA==" } },
      { is: "tool_call", id: "b", name: "get", argumentsText: "{}" },
    ]);
  });
});

describe("settings", () => {
  test("MSG-02 limits, sampling, stop sequences", () => {
    const call = decoded({ temperature: 0.5, top_p: 0.9, top_k: 5, stop_sequences: ["END", "\n"], stream: true });
    expect(call).toMatchObject({
      maxOutputTokens: 100,
      temperature: 0.5,
      topP: 0.9,
      topK: 5,
      stop: ["END", "\n"],
      stream: true,
    });
    expect(call.parameters).toEqual(["max_tokens", "stop", "top_k"]);
    expect(call.parameterNames?.stop).toBe("stop_sequences");
  });

  test("MSG-02 tools and how they are chosen", () => {
    const schema = { type: "object", properties: { city: { type: "string" } } };
    const tools = [
      { name: "get", description: "Gets.", input_schema: schema, strict: true, cache_control: { type: "ephemeral" } },
      { type: "custom", name: "put", input_schema: schema, eager_input_streaming: true, allowed_callers: ["direct"] },
    ];
    const call = decoded({ tools, tool_choice: { type: "tool", name: "put", disable_parallel_tool_use: true } });
    expect(call.tools).toEqual([
      { name: "get", description: "Gets.", schema, strict: true, cache: { ttl: null } },
      { name: "put", description: null, schema, strict: null },
    ]);
    expect(call.toolChoice).toEqual({ is: "named", name: "put" });
    expect(call.openAiParameters).toEqual({ parallel_tool_calls: false });
    expect(call.parameters).toEqual(["max_tokens", "tools", "tool_choice"]);
    expect([call.native, call.advisory]).toEqual([[], ["tools[].eager_input_streaming"]]);
    expect(decoded({ tools, tool_choice: { type: "any" } }).toolChoice).toEqual({ is: "required" });
    expect(decoded({ tools, tool_choice: { type: "auto" } }).toolChoice).toEqual({ is: "auto" });
    expect(decoded({ tools, tool_choice: { type: "none" } }).toolChoice).toEqual({ is: "none" });
    expect(
      decoded({ tool_choice: { type: "auto", disable_parallel_tool_use: true } }).openAiParameters,
    ).toBeUndefined();
  });

  test.each([
    [{ thinking: { type: "disabled" } }, { effort: "none", budgetTokens: null, isOptional: true }],
    [
      { thinking: { type: "adaptive" } },
      { effort: "medium", budgetTokens: null, isOptional: true, isEffortDefaulted: true },
    ],
    [
      { thinking: { type: "between_tools" } },
      { effort: "low", budgetTokens: null, isOptional: true, isEffortDefaulted: true },
    ],
    [{ thinking: { type: "enabled", budget_tokens: 2000 } }, { effort: "low", budgetTokens: 2000 }],
    [{ thinking: { type: "enabled", budget_tokens: 30_000 } }, { effort: "high", budgetTokens: 30_000 }],
    [
      { thinking: { type: "enabled", budget_tokens: 30_000 }, output_config: { effort: "low" } },
      { effort: "low", budgetTokens: 30_000 },
    ],
    [
      { thinking: { type: "between_tools" }, output_config: { effort: "high" } },
      { effort: "high", budgetTokens: null, isOptional: true },
    ],
    [
      { thinking: { type: "adaptive" }, output_config: { effort: "xhigh" } },
      { effort: "xhigh", budgetTokens: null, isOptional: true },
    ],
    [{ output_config: { effort: "low" } }, { effort: "low", budgetTokens: null, isOptional: true }],
    [{ thinking: null, output_config: { effort: null } }, undefined],
  ])("MSG-02 thinking %j", (more, wish) => {
    expect(decoded(more).reasoning).toEqual(wish);
  });

  test("MSG-02 only a budget is required of every endpoint", () => {
    const budget = decoded({ thinking: { type: "enabled", budget_tokens: 2000, display: "omitted" } });
    expect(budget.parameters).toContain("reasoning_effort");
    expect(budget.parameterNames?.reasoning_effort).toBe("thinking");
    expect(budget.advisory).toEqual(["thinking.display"]);
    expect(decoded({ thinking: { type: "adaptive" } }).parameters).not.toContain("reasoning_effort");
    expect(decoded({ output_config: { effort: "low" } }).parameterNames?.reasoning_effort).toBe("output_config.effort");
  });

  test("MSG-02 a schema is strict if it is fully specified", () => {
    const closed = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    };
    const open = { type: "object", properties: { a: { type: "string" } } };
    const format = (schema: unknown) => ({ type: "json_schema", schema });
    expect(decoded({ output_config: { format: format(closed) } }).responseFormat).toEqual({
      is: "json_schema",
      name: "answer",
      description: null,
      schema: closed,
      strict: true,
    });
    for (const schema of [
      open,
      { ...open, additionalProperties: false },
      { ...closed, additionalProperties: true },
      { ...closed, required: [] },
      { ...closed, properties: { a: open } },
      { anyOf: [closed, open] },
    ])
      expect(decoded({ output_config: { format: format(schema) } }).responseFormat).toMatchObject({ strict: null });
    for (const [more, name] of [
      [{ output_config: { format: format(closed) } }, "output_config.format"],
      [{ output_format: format(closed) }, "output_format"],
    ] as const) {
      const { responseFormat, parameters, parameterNames } = decoded(more);
      expect([responseFormat.is, parameterNames?.response_format]).toEqual(["json_schema", name]);
      expect(parameters).toContain("response_format");
    }
  });
});

describe("native fields", () => {
  test.each([
    [{ unheard_of: 1 }, "unheard_of"],
    [{ betas: ["x"] }, "betas"],
    [{ container: "c_1" }, "container"],
    [{ compaction: { type: "summarize" } }, "compaction"],
    [{ mcp_servers: [{ url: "x" }] }, "mcp_servers"],
    [{ service_tier: "priority" }, "service_tier"],
    [{ inference_geo: "us" }, "inference_geo"],
    [{ thinking: { type: "someday" } }, "thinking.type"],
    [{ thinking: { type: "adaptive", new_field: 1 } }, "thinking.new_field"],
    [{ output_config: { effort: "heroic" } }, "output_config.effort"],
    [{ output_config: { task_budget: { tokens: 1 } } }, "output_config.task_budget"],
    [{ output_config: { format: { type: "grammar" } } }, "output_config.format.type"],
    [{ tools: [{ type: "bash_20250124", name: "bash" }] }, "tools.0.type"],
    [{ tools: [{ name: "a", input_schema: {}, defer_loading: true }] }, "tools.0.defer_loading"],
    [
      { tools: [{ name: "a", input_schema: {}, allowed_callers: ["code_execution_20250825"] }] },
      "tools.0.allowed_callers",
    ],
    [{ tool_choice: { type: "someday" } }, "tool_choice.type"],
    [{ system: [{ type: "video" }] }, "system.0"],
  ])("PARAM-04 %j is native", (more, path) => {
    expect(decoded(more).native).toEqual([path]);
  });

  test.each([
    [{ name: "Ann" }, "messages[].name"],
    [{ content: [{ type: "text", text: "x", new_field: 1 }] }, "messages[].content[].new_field"],
    [
      { content: [{ type: "image", source: { type: "url", url: "https://a.example", new_field: 1 } }] },
      "messages[].content[].source.new_field",
    ],
    [
      { content: [{ type: "text", text: "x", cache_control: { type: "ephemeral", scope: "global" } }] },
      "messages[].content[].cache_control.scope",
    ],
  ])("PARAM-07 the unknown member of %j in the history is omitted, not rejected", (more, path) => {
    const message = { role: "user" as const, content: "x", ...more };
    const { native, advisory } = decoded({ messages: [message, message] });
    expect([native, advisory]).toEqual([[], [path]]);
  });

  test.each([
    [{ type: "search_result", source: "x" }, "messages.0.content.0"],
    [{ type: "server_tool_use", id: "x" }, "messages.0.content.0"],
    [{ type: "thinking", thinking: "x" }, "messages.0.content.0"],
    [{ type: "image", source: { type: "hologram" } }, "messages.0.content.0.source.type"],
    [{ type: "document", source: { type: "hologram" } }, "messages.0.content.0.source.type"],
    [
      { type: "document", source: { type: "text", data: "x" }, citations: { enabled: true } },
      "messages.0.content.0.citations",
    ],
    [
      { type: "tool_result", tool_use_id: "a", content: [{ type: "tool_reference", tool_name: "b" }] },
      "messages.0.content.0.content.0",
    ],
  ])("PARAM-04 the user block %j is native", (block, path) => {
    expect(userSays(block).native).toContain(path);
  });

  test("PARAM-04 fields that do not change the reply are dropped and reported", () => {
    const call = decoded({
      metadata: { user_id: "u" },
      service_tier: "auto",
      cache_control: { type: "ephemeral" },
      context_management: { edits: [] },
      diagnostics: { x: 1 },
      speed: "fast",
      inference_geo: "global",
      container: null,
      mcp_servers: [],
    });
    expect(call.native).toEqual([]);
    expect(call.advisory).toEqual([
      "metadata",
      "service_tier",
      "cache_control",
      "context_management",
      "diagnostics",
      "speed",
      "inference_geo",
    ]);
  });

  test("PARAM-04 null is the same as absent, everywhere", () => {
    const nothing = { system: null, tools: null, tool_choice: null, thinking: null, output_config: null };
    const more = { temperature: null, top_k: null, stop_sequences: null, metadata: null, stream: null, anything: null };
    expect(decoded({ ...nothing, ...more })).toEqual(decoded({}));
  });

  test("PARAM-06 routing hints are decoded and not native", () => {
    const call = decoded({ session_id: "s", cost_tier: "low", remaining_turns: 3 });
    expect(call.parameters).toEqual(["max_tokens"]);
    expect(call.routingHints).toEqual({ sessionId: "s", costTier: "low", remainingTurns: 3 });
    expect([call.native, call.advisory]).toEqual([[], []]);
  });

  test("PARAM-04 the number of reported fields is limited", () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`field_${at}`, 1]));
    expect(decoded(many).native).toHaveLength(64);
  });
});
