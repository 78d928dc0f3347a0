import { describe } from "vitest";
import {
  chars,
  EPHEMERAL,
  expectShapes,
  maybeFlag,
  maybeInt,
  maybeList,
  maybeNumber,
  maybeObject,
  maybeText,
  NOT_SENT,
  open,
  PREFERENCES,
  TOKENS_MAX,
  text,
  word,
} from "../../../tests/support/request-shapes.ts";
import { MessagesRequest } from "./messages.ts";

describe("/messages", () => {
  const tool = { name: "f", input_schema: {} };
  const marked = { cache_control: EPHEMERAL };
  const body = {
    model: "a/b",
    max_tokens: 1,
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "a", ...marked },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" }, ...marked },
          { type: "image", source: { type: "url", url: "https://a.example/b.png" } },
          { type: "document", source: { type: "file", file_id: "file_1" }, citations: {}, ...marked },
          { type: "document", source: { type: "text", data: "a" } },
          { type: "document", source: { type: "content", content: [{ type: "text", text: "a" }] } },
          { type: "tool_result", tool_use_id: "t", content: "a", ...marked },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "a", signature: "a" },
          { type: "redacted_thinking", data: "a" },
          { type: "tool_use", id: "t", name: "f", input: {}, ...marked },
        ],
      },
    ],
    tools: [{ type: "custom", name: "f", input_schema: {} }],
    tool_choice: { type: "tool", name: "f" },
    thinking: { type: "enabled" },
    output_config: { format: { type: "json_schema" } },
    provider: PREFERENCES,
  };
  const user = (at: number, path?: string) => ["messages.0.content", at, path ?? []].flat().join(".");
  const assistant = (at: number, path?: string) => ["messages.1.content", at, path ?? []].flat().join(".");
  expectShapes(MessagesRequest, body, [
    ["messages.0.role", ["user", "assistant", "system"], [undefined, null, "tool"]],
    text(user(0, "text")),
    ...[user(0), user(1), user(3), user(6), assistant(2)].map((block) => maybeObject(`${block}.cache_control`)),
    text(user(0, "cache_control.type")),
    maybeText(user(0, "cache_control.ttl")),
    open(user(0, "cache_control")),
    word(user(1, "source.media_type")),
    word(user(1, "source.data")),
    open(user(1, "source")),
    open(user(1)),
    word(user(2, "source.url")),
    open(user(2, "source")),
    word(user(3, "source.file_id")),
    open(user(3, "source")),
    maybeText(user(3, "title")),
    maybeText(user(3, "context")),
    maybeObject(user(3, "citations")),
    maybeFlag(user(3, "citations.enabled")),
    open(user(3, "citations")),
    open(user(3)),
    text(user(4, "source.data")),
    ["messages.0.content.5.source.content", ["a", [{ type: "other" }]], [undefined, null, 7]],
    text(user(5, "source.content.0.text")),
    open(user(5, "source")),
    word(user(6, "tool_use_id")),
    ["messages.0.content.6.content", [...NOT_SENT, "a", []], [7]],
    maybeFlag(user(6, "is_error")),
    open(user(6)),
    text(assistant(0, "thinking")),
    maybeText(assistant(0, "signature")),
    open(assistant(0)),
    word(assistant(1, "data")),
    open(assistant(1)),
    word(assistant(2, "id")),
    word(assistant(2, "name")),
    ["messages.1.content.2.input", [{ a: 1 }, "a", [1]], [undefined, null]],
    maybeList("tools", tool, 0, 512),
    ["tools.0.type", [...NOT_SENT, "custom", "other"], []],
    ["tools.0.name", ["f", chars(128), "a.b-C_9"], [undefined, "", chars(129), "a b"]],
    maybeText("tools.0.description"),
    ["tools.0.input_schema", [{}], [undefined, null, "a"]],
    maybeFlag("tools.0.strict"),
    maybeObject("tools.0.cache_control"),
    text("tool_choice.type"),
    ["tool_choice.name", [...NOT_SENT, "a"], ["", 7]],
    maybeFlag("tool_choice.disable_parallel_tool_use"),
    open("tool_choice"),
    text("thinking.type"),
    maybeInt("thinking.budget_tokens", 1, TOKENS_MAX),
    maybeText("output_config.effort"),
    maybeObject("output_config.format"),
    text("output_config.format.type"),
    maybeObject("output_config.format.schema"),
    open("output_config.format"),
    ["max_tokens", [0, TOKENS_MAX], [undefined, null, -1, TOKENS_MAX + 1, 0.5]],
    maybeFlag("stream"),
    maybeNumber("temperature", 0, 1),
    maybeNumber("top_p", 0, 1),
    maybeInt("top_k", 0),
    maybeList("stop_sequences", "a", 0, 8191),
  ]);

  describe("pictures that are kept, and documents of bytes", () => {
    const content = [
      { type: "image", source: { type: "file", file_id: "file_1" } },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AAAA" } },
      { type: "document", source: { type: "url", url: "https://a.example/b.pdf" } },
      { type: "tool_result", tool_use_id: "t", content: [{ type: "image", source: { type: "url", url: "a" } }] },
    ];
    expectShapes(MessagesRequest, { ...body, messages: [{ role: "user", content }] }, [
      word(user(0, "source.file_id")),
      word(user(1, "source.media_type")),
      word(user(1, "source.data")),
      word(user(2, "source.url")),
      word(user(3, "content.0.source.url")),
    ]);
  });
});
