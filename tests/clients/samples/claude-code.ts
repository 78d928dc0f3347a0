import type { Json } from "../../support/gateway.ts";

/** Requests in the shape of Claude Code 2.1.325 (`claude -p`), with short texts. */
export const CLAUDE_CODE_PATH = "/v1/messages?beta=true";

const BETAS = [
  "claude-code-20250219",
  "interleaved-thinking-2025-05-14",
  "context-management-2025-06-27",
  "mid-conversation-tool-changes-2026-07-01",
  "thinking-token-count-2026-05-13",
  "advanced-tool-use-2025-11-20",
  "effort-2025-11-24",
];

export const CLAUDE_CODE_HEADERS = {
  accept: "application/json",
  "content-type": "application/json",
  "user-agent": "claude-cli/2.1.325 (external, sdk-cli)",
  "x-claude-code-session-id": "4af155a1-5586-48b1-b393-36aa34f5c3f5",
  "x-stainless-arch": "x64",
  "x-stainless-lang": "js",
  "x-stainless-os": "Linux",
  "x-stainless-package-version": "0.128.0",
  "x-stainless-retry-count": "0",
  "x-stainless-runtime": "node",
  "x-stainless-runtime-version": "v26.12.1",
  "x-stainless-timeout": "600",
  "anthropic-beta": BETAS.join(","),
  "anthropic-dangerous-direct-browser-access": "true",
  "anthropic-version": "2023-06-01",
  "x-app": "cli",
} as const;

const MARK = { type: "ephemeral" };
const DRAFT = "https://json-schema.org/draft/2020-12/schema";

const TOOLS = [
  {
    name: "Bash",
    description: "Runs a command in a shell.",
    input_schema: {
      $schema: DRAFT,
      type: "object",
      properties: {
        command: { description: "The command", type: "string" },
        timeout: { description: "Milliseconds", type: "number" },
        run_in_background: { type: "boolean" },
      },
      required: ["command"],
      additionalProperties: false,
    },
  },
  {
    name: "Read",
    description: "Reads a file.",
    input_schema: {
      $schema: DRAFT,
      type: "object",
      properties: {
        file_path: { description: "An absolute path", type: "string" },
        offset: { type: "integer", minimum: 0, maximum: 9_007_199_254_740_991 },
        limit: { type: "integer", exclusiveMinimum: 0, maximum: 9_007_199_254_740_991 },
      },
      required: ["file_path"],
      additionalProperties: false,
    },
  },
  {
    name: "ToolSearch",
    description: "Loads tools that are not loaded yet.",
    input_schema: {
      $schema: DRAFT,
      type: "object",
      properties: { query: { type: "string", maxLength: 400 }, max_results: { default: 5, type: "number" } },
      required: ["query", "max_results"],
      additionalProperties: false,
    },
  },
  {
    name: "DeferredToolPlaceholder",
    description: "Holds a place; never called.",
    input_schema: { type: "object", properties: {} },
    defer_loading: true,
  },
];

const DEFERRING = ["ToolSearch", "DeferredToolPlaceholder"];

/** The model's id decides what the client sends: unknown ids get a system turn inside the conversation. */
export function claudeCodeBody(model: string, messages: readonly Json[]): Json {
  return {
    model,
    messages,
    system: [
      { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.325.a7d; cc_entrypoint=sdk-cli;" },
      { type: "text", text: "You are an agent.", cache_control: MARK },
      { type: "text", text: "\nYou work with the user toward a goal.", cache_control: MARK },
    ],
    tools: TOOLS,
    metadata: { user_id: JSON.stringify({ device_id: "d", account_uuid: "", session_id: "s" }) },
    max_tokens: 32_000,
    thinking: { type: "adaptive", display: "omitted" },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    output_config: { effort: "high" },
    stream: true,
  };
}

/** The client's retry after deferred tools were refused, and its first request with `ENABLE_TOOL_SEARCH=false`. */
export function claudeCodePlainBody(model: string, messages: readonly Json[]): Json {
  return { ...claudeCodeBody(model, messages), tools: TOOLS.filter(({ name }) => !DEFERRING.includes(name)) };
}

/** Models known to reason by a budget get one, just below the limit. */
export function claudeCodeBudgetBody(model: string, messages: readonly Json[]): Json {
  const { output_config: _none, ...rest } = claudeCodePlainBody(model, messages);
  return { ...rest, thinking: { budget_tokens: 31_999, type: "enabled", display: "omitted" } };
}

const USER_TURN = {
  role: "user",
  content: [
    { type: "text", text: "<system-reminder>\nBe brief.\n</system-reminder>" },
    { type: "text", text: "Make a file made.txt" },
  ],
};

export const FIRST_TURN = [
  USER_TURN,
  { role: "system", content: [{ type: "text", text: "# Environment\nLinux", cache_control: MARK }] },
];

/** After one call, then two in parallel. The system turn is plain text by now. */
export const LATER_TURN = [
  USER_TURN,
  { role: "system", content: "# Environment\nLinux" },
  {
    role: "assistant",
    content: [
      { type: "text", text: "I write the file." },
      { type: "tool_use", id: "toolu_one", name: "Bash", input: { command: "echo words > made.txt" } },
    ],
  },
  {
    role: "user",
    content: [{ tool_use_id: "toolu_one", type: "tool_result", content: "", is_error: false }],
  },
  {
    role: "assistant",
    content: [
      { type: "tool_use", id: "toolu_two", name: "Read", input: { file_path: "/made.txt" } },
      { type: "tool_use", id: "toolu_three", name: "Bash", input: { command: "ls" } },
    ],
  },
  {
    role: "user",
    content: [
      { tool_use_id: "toolu_two", type: "tool_result", content: "1\twords" },
      {
        tool_use_id: "toolu_three",
        type: "tool_result",
        content: "made.txt",
        is_error: false,
        cache_control: MARK,
      },
    ],
  },
];
