import { describe, expect, test } from "vitest";
import { fault } from "../../../../contract/faults.ts";
import { MessagesRequest } from "../../../../contract/schemas/messages.ts";
import { toCallerParameterNames } from "./parameter-names.ts";
import { decodeRequest } from "./request.ts";

/** Names of the canonical call, and what the caller of this request calls them. */
const request = MessagesRequest.parse({
  model: "m",
  max_tokens: 5,
  system: "S",
  stop_sequences: ["x"],
  tools: [{ name: "a", input_schema: {} }],
  thinking: { type: "enabled", budget_tokens: 2000 },
  output_config: { format: { type: "json_schema", schema: {} } },
  messages: [
    { role: "user", content: "Hi" },
    {
      role: "assistant",
      content: [
        { type: "redacted_thinking", data: "svc:call:google:x" },
        { type: "tool_use", id: "a", name: "a", input: {} },
        { type: "text", text: "x" },
        { type: "tool_use", id: "b", name: "a", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "a" },
        { type: "tool_result", tool_use_id: "c" },
        {
          type: "document",
          title: "T",
          source: {
            type: "content",
            content: [
              { type: "text", text: "1" },
              { type: "text", text: "2" },
            ],
          },
        },
        { type: "text", text: "x" },
      ],
    },
  ],
});
const call = decodeRequest(request);

describe("a canonical field", () => {
  test.each([
    ["messages", "messages"],
    ["messages.0.content.0", "system"],
    ["messages.1.content.0", "messages.0.content"],
    ["messages.2", "messages.1"],
    ["messages.2.content.0", "messages.1.content.1"],
    ["messages.2.tool_calls.1.function.arguments", "messages.1.content.3.input"],
    ["messages.2.tool_calls.0.function.name", "messages.1.content.1.name"],
    ["messages.2.tool_calls.0", "messages.1.content.1"],
    ["messages.3.tool_call_id", "messages.2.content.1.tool_use_id"],
    ["messages.3.content.1.content.0", "messages.2.content.1.content.0"],
    ["messages.3.content.4", "messages.2.content.2"],
    ["messages.3.content.5", "messages.2.content.3"],
    ["tools.0.function.name", "tools.0.name"],
    ["tools.0.function.parameters", "tools.0.input_schema"],
    ["stop", "stop_sequences"],
    ["reasoning_effort", "thinking"],
    ["response_format", "output_config.format"],
    ["model", "model"],
  ])("ERR-03 %s is %s for the caller", (param, name) => {
    const said = toCallerParameterNames(
      fault("invalid_value", { message: `${param} is odd; ${param}9 is not.`, param }),
      request,
      call,
    );
    expect(said.param).toBe(name);
    expect(said.message).toBe(`${name} is odd; ${param}9 is not.`);
    expect([said.code, said.status]).toEqual(["invalid_value", 400]);
  });

  test("ERR-06 a provider's own message stays unchanged", () => {
    const problem = fault("provider_error", { message: "stop is odd", param: "stop", status: 422 });
    expect(toCallerParameterNames(problem, request, call)).toBe(problem);
  });

  test("PARAM-04 paths recorded while decoding are not renamed", () => {
    const native = { ...call, native: ["messages.1.content.0"] };
    const problem = fault("unsupported_parameter", { message: "no", param: "messages.1.content.0" });
    expect(toCallerParameterNames(problem, request, native)).toBe(problem);
  });
});
