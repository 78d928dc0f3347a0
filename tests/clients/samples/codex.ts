import type { Json } from "../../support/gateway.ts";

/** Requests in the shape of Codex CLI 0.166.0 (`codex exec`), with short texts. */
const SESSION = "01a1ddeb-7367-7e30-b7b1-01d20a0891be";
const TURN = "01a1ddeb-7392-7fa1-bdfc-a36727ac7fed";
const TURN_METADATA = JSON.stringify({ session_id: SESSION, turn_id: TURN, request_kind: "turn", sandbox: "none" });

export const CODEX_HEADERS = {
  "x-codex-beta-features": "remote_compaction_v2",
  "x-codex-window-id": `${SESSION}:0`,
  "x-codex-turn-metadata": TURN_METADATA,
  "x-client-request-id": SESSION,
  "session-id": SESSION,
  "thread-id": SESSION,
  accept: "text/event-stream",
  "content-type": "application/json",
  originator: "codex_exec",
  "user-agent": "codex_exec/0.166.0 (Debian 12.0.0; x86_64) dumb (codex_exec; 0.166.0)",
} as const;

const object = (properties: Json, required: readonly string[]) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const EXEC = {
  type: "function",
  name: "exec_command",
  description: "Runs a command.",
  strict: false,
  parameters: object(
    {
      cmd: { type: "string", description: "The command." },
      prefix_rule: { type: "array", items: { type: "string" } },
      sandbox_permissions: { type: "string", enum: ["use_default", "require_escalated"] },
      tty: { type: "boolean" },
      yield_time_ms: { type: "number" },
    },
    ["cmd"],
  ),
};

/** Agent tools are sent as one group. */
const AGENTS = {
  type: "namespace",
  name: "multi_agent_v1",
  description: "Tools for agents.",
  tools: [
    {
      type: "function",
      name: "close_agent",
      description: "Closes an agent.",
      strict: false,
      parameters: object({ target: { type: "string" } }, ["target"]),
    },
    {
      type: "function",
      name: "spawn_agent",
      description: "Starts an agent.",
      strict: false,
      parameters: { ...object({ message: { type: "string" } }, []), required: undefined },
    },
  ],
};

export const WEB_SEARCH = { type: "web_search", external_web_access: true };

/** Sent to models that are known to write patches as text. */
export const APPLY_PATCH = {
  type: "custom",
  name: "apply_patch",
  description: "Changes files by a patch.",
  format: { type: "grammar", syntax: "lark", definition: "start: /(.|\\n)+/" },
};

export function codexBody(model: string, input: readonly Json[], tools: readonly Json[] = []): Json {
  return {
    model,
    stream: true,
    input,
    tools: [EXEC, AGENTS, ...tools],
    tool_choice: "auto",
    parallel_tool_calls: true,
    reasoning: { summary: "auto" },
    store: false,
    include: ["reasoning.encrypted_content"],
    prompt_cache_key: SESSION,
    client_metadata: {
      "x-codex-window-id": `${SESSION}:0`,
      "x-codex-turn-metadata": TURN_METADATA,
      session_id: SESSION,
      turn_id: TURN,
    },
  };
}

const message = (id: string, role: string, ...texts: string[]) => ({
  type: "message",
  id: `msg_${id}`,
  role,
  content: texts.map((text) => ({ type: "input_text", text })),
});

export const FIRST_TURN = [
  message("one", "developer", "You are a coding agent."),
  message("two", "developer", "<skills>none</skills>", "<permissions>all</permissions>"),
  message("three", "user", "<environment_context>Linux</environment_context>"),
  message("four", "user", "Make a file made.txt"),
];

/** The reply as the client sends it back: items unchanged, `content` of reasoning as null. */
export const LATER_TURN = [
  ...FIRST_TURN,
  {
    type: "message",
    status: "completed",
    id: "msg_five",
    role: "assistant",
    content: [{ type: "output_text", text: "I write the file.", annotations: [] }],
  },
  {
    type: "function_call",
    status: "completed",
    id: "fc_one",
    name: "exec_command",
    arguments: '{"cmd":"echo words > made.txt"}',
    call_id: "call_one",
  },
  { type: "function_call_output", id: "fco_one", call_id: "call_one", output: "Process exited with code 0\nOutput:\n" },
];

/** Reasoning as it is sent back; its signature is the endpoint's own. */
export const THOUGHT = {
  type: "reasoning",
  id: "rs_one",
  summary: [{ type: "summary_text", text: "I should use the shell." }],
  content: null,
  encrypted_content: "c2VhbGVk",
};

/** A call of a grouped tool names its group. */
export const GROUPED_CALL = [
  {
    type: "function_call",
    status: "completed",
    id: "fc_two",
    name: "close_agent",
    namespace: "multi_agent_v1",
    arguments: '{"target":"missing"}',
    call_id: "call_two",
  },
  { type: "function_call_output", id: "fco_two", call_id: "call_two", output: "invalid agent id missing" },
];
