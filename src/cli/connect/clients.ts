import path from "node:path";
import { isJsonObject } from "../../kit/json.ts";
import { aider, cline, continueDev, opencode, pi, qwenCode } from "./chat-clients.ts";
import { type ClientKind, type Settings, set } from "./client-kind.ts";
import type { ClientName } from "./client-names.ts";
import { readTomlValue, setJson, setToml } from "./config-edit.ts";
import { restoreJson } from "./restore-json.ts";

const CLAUDE_VARIABLES = [
  "ANTHROPIC_BASE_URL",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_MODEL",
  "ANTHROPIC_DEFAULT_OPUS_MODEL",
  "ANTHROPIC_DEFAULT_SONNET_MODEL",
  "ANTHROPIC_DEFAULT_HAIKU_MODEL",
  "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY",
  "CLAUDE_CODE_MAX_CONTEXT_TOKENS",
  "ENABLE_TOOL_SEARCH",
] as const;
type ClaudeVariable = (typeof CLAUDE_VARIABLES)[number];

function claudeVariables({ base, key, model, smallModel }: Settings): Partial<Record<ClaudeVariable, string>> {
  const isClaude = /claude/.test(model.id);
  return {
    ANTHROPIC_BASE_URL: base,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: model.id,
    ANTHROPIC_DEFAULT_OPUS_MODEL: model.id,
    ANTHROPIC_DEFAULT_SONNET_MODEL: model.id,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: smallModel.id,
    CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: "1",
    // Claude Code assumes a million tokens of context and tool search for models it does not know.
    ...(isClaude || model.contextTokens === null
      ? {}
      : { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(model.contextTokens) }),
    ...(isClaude ? {} : { ENABLE_TOOL_SEARCH: "false" }),
  };
}

const claudeCode: ClientKind = {
  title: "Claude Code",
  configFile: (env, home) => path.join(set(env, "CLAUDE_CONFIG_DIR") ?? path.join(home, ".claude"), "settings.json"),
  keyFileName: null,
  surface: "messages",
  prefers: [/claude-sonnet/, /claude/],
  prefersSmall: /claude-haiku/,
  write(text, settings) {
    const variables = claudeVariables(settings);
    // Another service's key beside the token would prompt the user, or take precedence.
    return CLAUDE_VARIABLES.reduce((sum, name) => setJson(sum, ["env", name], variables[name]), text);
  },
  undo: (text, before) =>
    restoreJson(
      text,
      before,
      CLAUDE_VARIABLES.map((name) => ["env", name]),
    ),
  begin: () => "claude",
  rivals: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL"],
};

const CODEX_MODEL = ["model"];
const CODEX_PROVIDER = ["model_provider"];
const CODEX_PROVIDER_TABLE = ["model_providers", "gateway"];

const codex: ClientKind = {
  title: "Codex",
  configFile: (env, home) => path.join(set(env, "CODEX_HOME") ?? path.join(home, ".codex"), "config.toml"),
  keyFileName: "gateway-key",
  surface: "responses",
  prefers: [/openai\/gpt-5/, /openai\//],
  write: (text, { base, keyFile, model }) =>
    setToml(
      text,
      new Map<readonly string[], unknown>([
        [CODEX_MODEL, model.id],
        [CODEX_PROVIDER, "gateway"],
        [
          CODEX_PROVIDER_TABLE,
          {
            name: "Inference Gateway",
            base_url: `${base}/v1`,
            wire_api: "responses",
            // Codex reads model capabilities from the gateway only when the key comes from a command, not from a variable.
            auth: { command: "cat", args: [keyFile] },
          },
        ],
      ]),
    ),
  undo(text, before) {
    const paths = [CODEX_MODEL, CODEX_PROVIDER, CODEX_PROVIDER_TABLE];
    const restored = setToml(text, new Map(paths.map((one) => [one, readTomlValue(before, one)])));
    const [table = ""] = CODEX_PROVIDER_TABLE;
    const left = readTomlValue(restored, [table]);
    const isCreatedByUs = isJsonObject(left) && Object.keys(left).length === 0;
    return isCreatedByUs && readTomlValue(before, [table]) === undefined
      ? setToml(restored, new Map([[[table], undefined]]))
      : restored;
  },
  begin: () => "codex",
  rivals: [],
};

export const CLIENTS: Readonly<Record<ClientName, ClientKind>> = {
  "claude-code": claudeCode,
  codex,
  opencode,
  continue: continueDev,
  "qwen-code": qwenCode,
  cline,
  aider,
  pi,
};
