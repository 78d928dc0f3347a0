import { describe, expect, test } from "vitest";
import { Fault } from "../../../../contract/faults.ts";
import { ResponsesRequest } from "../../../../contract/schemas/responses.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call } from "../../../canon/call.ts";
import { decodeReasoningItem, encodeSignature } from "../reasoning-signatures.ts";
import { decodeRequest } from "./request.ts";
import { inputItems } from "./turns.ts";

function decode(more: JsonObject, earlier: readonly JsonObject[] = []): Call {
  const request = ResponsesRequest.parse({ model: "m", input: "Hi", ...more });
  return decodeRequest(request, [...earlier, ...inputItems(request)]);
}

function refusalOf(run: () => unknown): Fault {
  try {
    run();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("it was taken");
}

const turnsOf = (input: unknown) => decode({ input }).turns.map(({ role, parts }) => ({ role, parts }));
const TEXT = (text: string) => ({ is: "text", text });

describe("items", () => {
  test("RESP-02 a plain text is one message, and instructions come first", () => {
    const turns = decode({ instructions: "Be brief." }, [{ role: "user", content: "Before" }]).turns;
    expect(turns.map(({ role, parts }) => [role, parts])).toEqual([
      ["system", [TEXT("Be brief.")]],
      ["user", [TEXT("Before")]],
      ["user", [TEXT("Hi")]],
    ]);
  });

  test("RESP-02 messages with and without a type, of every role and every kind of content", () => {
    const png = "data:image/png;base64,AAAA";
    const pdf = "data:application/pdf;base64,BBBB";
    expect(
      turnsOf([
        { type: null, role: "developer", content: "d" },
        { type: "message", role: "system", content: [{ type: "input_text", text: "s" }] },
        {
          role: "user",
          content: [
            { type: "input_text", text: "u" },
            { type: "input_image", image_url: png, detail: "auto" },
            { type: "input_image", image_url: "https://a.example/x.png" },
            { type: "input_image", file_id: "file_1" },
            { type: "input_file", file_data: pdf, filename: "f.pdf" },
            { type: "input_file", file_url: "https://a.example/f.pdf" },
          ],
        },
        {
          type: "message",
          id: "msg_1",
          status: "completed",
          role: "assistant",
          content: [
            { type: "output_text", text: "a", annotations: [] },
            { type: "refusal", refusal: "no" },
          ],
        },
      ]),
    ).toEqual([
      { role: "developer", parts: [TEXT("d")] },
      { role: "system", parts: [TEXT("s")] },
      {
        role: "user",
        parts: [
          TEXT("u"),
          { is: "image", source: { is: "inline", mediaType: "image/png", base64: "AAAA" } },
          { is: "image", source: { is: "url", url: "https://a.example/x.png" } },
          { is: "image", source: { is: "uploaded", id: "file_1" } },
          { is: "file", source: { is: "inline", mediaType: "application/pdf", base64: "BBBB" }, filename: "f.pdf" },
          { is: "file", source: { is: "url", url: "https://a.example/f.pdf" }, filename: null },
        ],
      },
      { role: "assistant", parts: [TEXT("a"), { is: "refusal", text: "no" }] },
    ]);
  });

  test("RESP-02 assistant items between two outputs are one turn: reasoning, text and all calls", () => {
    const carrier = encodeSignature({ family: "anthropic", data: "sig" });
    expect(
      turnsOf([
        { role: "user", content: "Weather?" },
        { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "t" }], encrypted_content: carrier },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "Let me see." }] },
        { type: "function_call", id: "fc_1", call_id: "c1", name: "weather", arguments: '{"city":"A"}' },
        { type: "function_call", call_id: "c2", name: "weather", arguments: "" },
        { type: "function_call_output", call_id: "c1", output: "sunny" },
        {
          type: "function_call_output",
          call_id: "c2",
          output: [
            { type: "input_text", text: "seen" },
            { type: "input_image", image_url: "data:image/png;base64,AAAA" },
          ],
        },
        { type: "function_call", call_id: "c3", name: "weather", arguments: "{}" },
      ]),
    ).toEqual([
      { role: "user", parts: [TEXT("Weather?")] },
      {
        role: "assistant",
        parts: [
          { is: "reasoning", detail: { is: "readable", text: "t", signature: { family: "anthropic", data: "sig" } } },
          TEXT("Let me see."),
          { is: "tool_call", id: "c1", name: "weather", argumentsText: '{"city":"A"}' },
          { is: "tool_call", id: "c2", name: "weather", argumentsText: "" },
        ],
      },
      { role: "tool", parts: [{ is: "tool_result", callId: "c1", content: [TEXT("sunny")], failed: false }] },
      {
        role: "tool",
        parts: [
          {
            is: "tool_result",
            callId: "c2",
            content: [TEXT("seen"), { is: "image", source: { is: "inline", mediaType: "image/png", base64: "AAAA" } }],
            failed: false,
          },
        ],
      },
      { role: "assistant", parts: [{ is: "tool_call", id: "c3", name: "weather", argumentsText: "{}" }] },
    ]);
  });

  test("RESP-02 custom tool calls and outputs, and reasoning that cannot be decrypted", () => {
    expect(
      turnsOf([
        { role: "user", content: "Fix it." },
        { type: "reasoning", summary: [], encrypted_content: "gAAAAA-of-another" },
        {
          type: "reasoning",
          summary: [{ type: "summary_text", text: "x" }],
          encrypted_content: "gw1:responses.openai:y",
        },
        { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "y" }] },
        { type: "custom_tool_call", call_id: "c1", name: "patch", input: "*** Begin" },
        { type: "custom_tool_call_output", call_id: "c1", output: "done" },
      ]).slice(1),
    ).toEqual([
      {
        role: "assistant",
        parts: [
          { is: "reasoning", detail: { is: "readable", text: "x", signature: null } },
          { is: "reasoning", detail: { is: "readable", text: "y", signature: null } },
          { is: "tool_call", id: "c1", name: "patch", argumentsText: '{"input":"*** Begin"}' },
        ],
      },
      { role: "tool", parts: [{ is: "tool_result", callId: "c1", content: [TEXT("done")], failed: false }] },
    ]);
  });

  test("RESP-02 native items are reported by path, and nothing is dropped silently", () => {
    const call = decode({
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "x" },
            { type: "input_video", url: "y" },
          ],
        },
        { type: "web_search_call", id: "ws_1", status: "completed" },
        { type: "function_call_output", call_id: "c", output: [{ type: "input_file", file_id: "f" }] },
      ],
    });
    expect([call.native, call.advisory]).toEqual([["input.0.content.1", "input.2.output.0"], ["input.1"]]);
    const earlier = decode({}, [
      { type: "mcp_call", id: "x" },
      { type: "web_search_call" },
      { type: "web_search_call" },
    ]);
    expect([earlier.native, earlier.advisory]).toEqual([["previous_response_id"], ["previous_response_id"]]);
  });

  test.each<[string, JsonObject, string]>([
    ["an item that is not stored", { input: [{ type: "item_reference", id: "msg_1" }] }, "input.0"],
    ["an image of nothing", { input: [{ role: "user", content: [{ type: "input_image" }] }] }, "input.0.content.0"],
    ["a file of nothing", { input: [{ role: "user", content: [{ type: "input_file" }] }] }, "input.0.content.0"],
    [
      "a file that is no data URL",
      { input: [{ role: "user", content: [{ type: "input_file", file_data: "AAAA" }] }] },
      "input.0.content.0.file_data",
    ],
    [
      "an image of the system",
      { input: [{ role: "system", content: [{ type: "input_image", image_url: "https://a.example/" }] }] },
      "input.0.content",
    ],
    ["no item at all", { input: [] }, "input"],
    ["no input at all", { input: null }, "input"],
    ["a conversation", { conversation: "conv_1" }, "conversation"],
  ])("PARAM-04 %s is rejected with its path", (_what, more, param) => {
    const refusal = refusalOf(() => decode(more));
    expect([refusal.status, refusal.param]).toEqual([400, param]);
  });
});

describe("tools", () => {
  const CLOSED = {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
    additionalProperties: false,
  };
  const OPEN = { type: "object", properties: { a: { type: "string" } } };

  test.each<[boolean | undefined, JsonObject | undefined, boolean]>([
    [undefined, CLOSED, true],
    [undefined, OPEN, false],
    [undefined, { ...CLOSED, properties: { a: OPEN } }, false],
    [undefined, { ...CLOSED, properties: { a: { anyOf: [CLOSED, OPEN] } } }, false],
    [undefined, { ...CLOSED, additionalProperties: true }, false],
    [undefined, { ...CLOSED, required: [] }, false],
    [undefined, undefined, true],
    [false, CLOSED, false],
    [true, OPEN, true],
  ])("RESP-02 strict %s with a schema is strict if the schema allows it", (strict, parameters, held) => {
    const { tools } = decode({ tools: [{ type: "function", name: "f", description: "d", parameters, strict }] });
    expect(tools).toEqual([{ name: "f", description: "d", schema: parameters ?? null, strict: held }]);
  });

  test("RESP-02 a custom tool is a function of one text; its grammar is sent and reported", () => {
    const format = { type: "grammar", syntax: "lark", definition: "start: /x/" };
    const { tools, advisory } = decode({ tools: [{ type: "custom", name: "patch", description: "Patches.", format }] });
    expect(tools).toMatchObject([
      { name: "patch", schema: { properties: { input: { type: "string" } }, required: ["input"] }, strict: null },
    ]);
    expect(tools[0]?.schema).toMatchObject({ type: "object", additionalProperties: false });
    expect(decode({ tools: [{ type: "custom", name: "patch" }] }).tools[0]?.description).toBeNull();
    expect(tools[0]?.description).toContain("Patches.");
    expect(tools[0]?.description).toContain("lark grammar:\nstart: /x/");
    expect(advisory).toEqual(["tools.0.format"]);
  });

  test("RESP-02 a namespace and its tool become one name, however long", () => {
    const inner = { type: "function", name: "read_the_whole_file" };
    const { tools } = decode({
      tools: [{ type: "namespace", name: "m".repeat(80), description: "d", tools: [inner] }],
    });
    expect(tools[0]?.name).toBe(`${"m".repeat(80)}__read_the_whole_file`);
    const call = { type: "function_call", call_id: "c", name: inner.name, namespace: "m".repeat(80), arguments: "{}" };
    expect(decode({ input: [call] }).turns[0]?.parts).toMatchObject([{ name: tools[0]?.name }]);
  });

  test.each(["web_search", "web_search_2025_08_26", "web_search_preview", "image_generation"])(
    "PARAM-04 %s is dropped and reported: agents offer it to every model",
    (type) => {
      const { tools, native, advisory } = decode({ tools: [{ type }, { type: "function", name: "f" }] });
      expect(tools.map(({ name }) => name)).toEqual(["f"]);
      expect([native, advisory]).toEqual([[], ["tools.0"]]);
    },
  );

  test.each(["file_search", "code_interpreter", "mcp", "computer_use_preview", "local_shell", "shell", "web_searches"])(
    "PARAM-04 %s is native",
    (type) => {
      expect(decode({ tools: [{ type }] }).native).toEqual(["tools.0.type"]);
    },
  );

  const tools = [{ type: "web_search" }, { type: "function", name: "f" }, { type: "custom", name: "c" }];
  test.each<[unknown, unknown, readonly string[]]>([
    [undefined, undefined, ["f", "c"]],
    ["none", { is: "none" }, ["f", "c"]],
    ["required", { is: "required" }, ["f", "c"]],
    [{ type: "function", name: "f" }, { is: "named", name: "f" }, ["f", "c"]],
    [{ type: "custom", name: "c" }, { is: "named", name: "c" }, ["f", "c"]],
    [
      { type: "allowed_tools", mode: "required", tools: [{ type: "custom", name: "c" }, { type: "web_search" }] },
      { is: "required" },
      ["c"],
    ],
    [{ type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] }, { is: "auto" }, ["f"]],
  ])("RESP-02 the choice %j", (tool_choice, toolChoice, names) => {
    const call = decode({ tools, tool_choice });
    expect(call.toolChoice).toEqual(toolChoice);
    expect(call.tools.map(({ name }) => name)).toEqual(names);
    expect(call.native).toEqual([]);
  });

  test.each<[string, JsonObject]>([
    ["a tool of the provider", { tools, tool_choice: { type: "web_search" } }],
    [
      "a list with such a tool",
      { tools, tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "mcp" }] } },
    ],
    ["some call, with only tools that are left out", { tools: [{ type: "web_search" }], tool_choice: "required" }],
  ])("PARAM-04 a choice of %s is native", (_what, more) => {
    expect(decode(more).native).toEqual(["tool_choice"]);
  });
});

describe("fields", () => {
  test("RESP-02 fields that every dialect supports", () => {
    const schema = { type: "object" };
    const call = decode({
      text: { format: { type: "json_schema", name: "n", schema, strict: true }, verbosity: "medium" },
      reasoning: { effort: "low", summary: "auto" },
      max_output_tokens: 64,
      temperature: 0.5,
      top_p: 0.9,
      stream: true,
    });
    expect(call).toMatchObject({
      responseFormat: { is: "json_schema", name: "n", description: null, schema, strict: true },
      reasoning: { effort: "low", budgetTokens: null },
      maxOutputTokens: 64,
      temperature: 0.5,
      topP: 0.9,
      stream: true,
      includeUsage: true,
      native: [],
      advisory: [],
    });
    // Sampling is not required: models without it are asked without.
    expect(call.parameters).toEqual(["max_tokens", "reasoning_effort", "response_format"]);
    expect(call.parameterNames).toMatchObject({
      max_tokens: "max_output_tokens",
      reasoning_effort: "reasoning.effort",
    });
    expect(decode({ text: { format: { type: "json_object" } } }).responseFormat).toEqual({ is: "json_object" });
  });

  test.each<[JsonObject, readonly string[]]>([
    [{ truncation: "auto" }, ["truncation"]],
    [{ max_tool_calls: 3 }, ["max_tool_calls"]],
    [{ prompt: { id: "pmpt_1" } }, ["prompt"]],
    [{ top_logprobs: 2 }, ["top_logprobs"]],
    [{ include: ["reasoning.encrypted_content", "message.output_text.logprobs"] }, ["include.1"]],
    [{ include: ["of_tomorrow"] }, ["include.0"]],
    [{ reasoning: { mode: "pro" } }, ["reasoning.mode"]],
    [{ text: { tone: "warm" } }, ["text.tone"]],
    [{ moderation: { model: "m" }, of_tomorrow: 1 }, ["moderation", "of_tomorrow"]],
  ])("PARAM-04 %j is native", (more, native) => {
    expect(decode(more).native).toEqual(native);
  });

  test.each<JsonObject>([
    { truncation: "disabled", top_logprobs: 0, parallel_tool_calls: true, service_tier: "auto" },
    { text: { verbosity: "medium" }, reasoning: { summary: "auto", context: "auto", mode: "standard" } },
    { include: ["reasoning.encrypted_content", "web_search_call.action.sources"] },
    { session_id: "s", cost_tier: "low", remaining_turns: 3, stream_options: { include_obfuscation: false } },
    { store: false, background: false, tools: [], tool_choice: null, metadata: null, of_tomorrow: null },
  ])("PARAM-04 %j has no effect", (more) => {
    const { native, advisory, parameters, openAiParameters } = decode(more);
    expect({ native, advisory, parameters, openAiParameters }).toEqual({
      native: [],
      advisory: [],
      parameters: [],
      openAiParameters: {},
    });
  });

  test("PARAM-04 hints are reported, and sent where supported", () => {
    const hints = { prompt_cache_key: "k", safety_identifier: "s", user: "u" };
    const call = decode({ ...hints, metadata: { a: "b" }, client_metadata: { c: "d" }, prompt_cache_retention: "24h" });
    expect(call.advisory?.toSorted()).toEqual(
      [...Object.keys(hints), "metadata", "client_metadata", "prompt_cache_retention"].toSorted(),
    );
    expect([call.openAiParameters, call.parameters]).toEqual([hints, []]);
  });

  test("PARAM-04 fields that change the reply and exist in one dialect only are required", () => {
    const call = decode({ text: { verbosity: "low" }, service_tier: "flex" });
    expect(call.parameters).toEqual(["verbosity", "service_tier"]);
    expect(call.openAiParameters).toEqual({ verbosity: "low", service_tier: "flex" });
    expect(call.parameterNames?.verbosity).toBe("text.verbosity");
  });
});

test("BILL-05 billable tools are found in tools, namespaces, the input and stored history", () => {
  const search = { type: "web_search" };
  const found = { type: "tool_search_output", call_id: "c", tools: [search] };
  const fieldsOf = (call: Call) => call.extras?.map(({ field, toolIndex }) => [field, toolIndex]);
  expect(fieldsOf(decode({ tools: [search] }))).toEqual([["tools.0.type", 0]]);
  const group = { type: "namespace", name: "n", tools: [{ type: "function", name: "f" }, search] };
  expect(fieldsOf(decode({ tools: [group] }))).toEqual([["tools.0.tools.1.type", undefined]]);
  expect(fieldsOf(decode({ input: [{ role: "user", content: "Hi" }, found] }))).toEqual([
    ["input.1.tools.0.type", undefined],
  ]);
  expect(fieldsOf(decode({}, [found]))).toEqual([["previous_response_id.tools.0.type", undefined]]);
  expect(decode({ input: [{ ...found, tools: [{ type: "function", name: "f" }] }] }).extras).toBeUndefined();
});

test("RESP-05 a signature keeps its family, and only this gateway's are decoded", () => {
  for (const family of ["anthropic", "google", "openai"] as const) {
    const signature = { family, data: "a:b+/=" };
    const detail = { is: "readable", text: "t", signature };
    expect(decodeReasoningItem("t", encodeSignature(signature))).toEqual({ is: "detail", detail });
  }
  for (const other of ["", "gAAAA", "gw1:", "gw1:responses.openai:x", "gw2:anthropic:x"])
    expect(decodeReasoningItem("", other), other).toEqual({ is: "nothing" });
});
