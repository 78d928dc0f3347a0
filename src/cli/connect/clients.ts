import path from "node:path";
import { isJsonObject } from "../../kit/json.ts";
import { putListItem, readJson, readTomlValue, removeListItem, setJson, setToml } from "./config-edit.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** What a client's configuration states about a model. */
export type KnownModel = {
  readonly id: string;
  readonly name: string;
  readonly contextTokens: number | null;
  readonly outputTokens: number | null;
  readonly isSandbox: boolean;
  readonly quality: number;
};

export type Settings = {
  /** Without `/v1`. */
  readonly base: string;
  readonly key: string;
  /** Where the key is kept, for clients that can read it from a file. */
  readonly keyFile: string;
  readonly model: KnownModel;
  /** For small tasks in the background. */
  readonly smallModel: KnownModel;
  /** What the picker of the client shall list. */
  readonly models: readonly KnownModel[];
};

/** A program on this machine that can be pointed at the gateway by its configuration file. */
export type ClientKind = {
  readonly title: string;
  readonly configFile: (env: Env, home: string) => string;
  /** A file beside the configuration that the client reads the key from; null: the key is in the configuration. */
  readonly keyFileName: string | null;
  readonly surface: "messages" | "responses" | "chat";
  /** Which models to prefer when none is named, the best first. */
  readonly prefers: readonly RegExp[];
  readonly prefersSmall?: RegExp;
  readonly write: (text: string, settings: Settings) => string;
  /** Takes out what `write` put in, as it was in the text before. */
  readonly undo: (text: string, before: string) => string;
  /** The command that starts the client, printed at the end. */
  readonly begin: string;
  /** Variables of the environment that would win over the configuration. */
  readonly rivals: readonly string[];
};

const set = (env: Env, name: string) => (env[name] === undefined || env[name] === "" ? undefined : env[name]);

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
  begin: "claude",
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
  begin: "codex",
  rivals: [],
};

const opencode: ClientKind = {
  title: "opencode",
  configFile: (env, home) =>
    set(env, "OPENCODE_CONFIG") ??
    path.join(set(env, "XDG_CONFIG_HOME") ?? path.join(home, ".config"), "opencode", "opencode.json"),
  keyFileName: "gateway-key",
  surface: "chat",
  prefers: [],
  write(text, { base, keyFile, model, models }) {
    const provider = {
      npm: "@ai-sdk/openai-compatible",
      name: "Inference Gateway",
      options: { baseURL: `${base}/v1`, apiKey: `{file:${keyFile}}` },
      models: Object.fromEntries(models.map((one) => [one.id, opencodeModel(one)])),
    };
    return setJson(setJson(text, ["provider", "gateway"], provider), ["model"], `gateway/${model.id}`);
  },
  undo: (text, before) => restoreJson(text, before, [["provider", "gateway"], ["model"]]),
  begin: "opencode",
  rivals: ["OPENCODE_CONFIG_CONTENT"],
};

function opencodeModel({ name, contextTokens, outputTokens }: KnownModel) {
  if (contextTokens === null) return { name };
  return { name, limit: { context: contextTokens, output: outputTokens ?? contextTokens } };
}

const CONTINUE_START = "name: Local\nversion: 1.0.0\nschema: v1\n";

function isGatewayModel(item: Readonly<Record<string, unknown>>): boolean {
  return typeof item["apiKey"] === "string" && item["apiKey"].startsWith("sk_svc_");
}

const continueDev: ClientKind = {
  title: "Continue",
  configFile: (env, home) => path.join(set(env, "CONTINUE_GLOBAL_DIR") ?? path.join(home, ".continue"), "config.yaml"),
  keyFileName: null,
  surface: "chat",
  prefers: [],
  write(text, { base, key, model }) {
    const whole = text.trim() === "" ? CONTINUE_START : text;
    const item = {
      name: model.name,
      provider: "openai",
      model: model.id,
      apiBase: `${base}/v1`,
      apiKey: key,
      roles: ["chat", "edit", "apply"],
    };
    return putListItem(whole, "models", item, isGatewayModel);
  },
  undo(text, before) {
    const left = removeListItem(text, "models", isGatewayModel);
    return before === "" && left === CONTINUE_START ? "" : left;
  },
  begin: "cn",
  rivals: [],
};

/** Sets each path back to what it was, and takes out objects that were made only to hold them. */
function restoreJson(text: string, before: string, paths: readonly (readonly string[])[]): string {
  let restored = text;
  for (const one of paths) restored = setJson(restored, one, readJson(before, one));
  for (const outer of new Set(paths.map(([first = ""]) => first))) {
    const left = readJson(restored, [outer]);
    const isEmpty = isJsonObject(left) && Object.keys(left).length === 0;
    if (isEmpty && readJson(before, [outer]) === undefined) restored = setJson(restored, [outer], undefined);
  }
  return restored;
}

export const CLIENTS = { "claude-code": claudeCode, codex, opencode, continue: continueDev } as const;
export type ClientName = keyof typeof CLIENTS;
export const CLIENT_NAMES = ["claude-code", "codex", "opencode", "continue"] as const;
