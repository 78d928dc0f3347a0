import path from "node:path";
import { isJsonObject } from "../../kit/json.ts";
import { type ClientKind, type KnownModel, type Settings, set } from "./client-kind.ts";
import { putListItem, readJson, readYamlValue, removeListItem, setJson, setYaml } from "./config-edit.ts";
import { dropEmptyObjects, restoreJson } from "./restore-json.ts";

/** Clients of the chat dialect. Their formats are those of the versions in docs/clients. */

export const opencode: ClientKind = {
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
  begin: () => "opencode",
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

export const continueDev: ClientKind = {
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
  begin: () => "cn",
  rivals: [],
};

const QWEN_KEY = "INFERENCE_GATEWAY_KEY";
const QWEN_MODELS = ["modelProviders", "openai"];
const QWEN_PATHS = [
  ["env", QWEN_KEY],
  ["security", "auth", "selectedType"],
  ["model", "name"],
];

function otherQwenModels(text: string): readonly unknown[] {
  const models = readJson(text, QWEN_MODELS);
  return Array.isArray(models) ? models.filter((one) => !isJsonObject(one) || one["envKey"] !== QWEN_KEY) : [];
}

function qwenModel({ id, name, contextTokens, outputTokens }: KnownModel, base: string) {
  const limits = {
    ...(contextTokens === null ? {} : { contextWindowSize: contextTokens }),
    // Without it, Qwen Code asks for more output than many models have.
    ...(outputTokens === null ? {} : { samplingParams: { max_tokens: outputTokens } }),
  };
  return { id, name, baseUrl: `${base}/v1`, envKey: QWEN_KEY, generationConfig: limits };
}

export const qwenCode: ClientKind = {
  title: "Qwen Code",
  configFile: (env, home) => path.join(set(env, "QWEN_HOME") ?? path.join(home, ".qwen"), "settings.json"),
  keyFileName: null,
  surface: "chat",
  prefers: [],
  write(text, { base, key, model, models }) {
    const entries = [...models.map((one) => qwenModel(one, base)), ...otherQwenModels(text)];
    const values = [key, "openai", model.id];
    return QWEN_PATHS.reduce(
      (sum, one, index) => setJson(sum, one, values[index]),
      setJson(text, QWEN_MODELS, entries),
    );
  },
  undo(text, before) {
    const others = otherQwenModels(text);
    const hadModels = readJson(before, QWEN_MODELS) !== undefined;
    const restored = setJson(text, QWEN_MODELS, others.length > 0 || hadModels ? others : undefined);
    return dropEmptyObjects(restoreJson(restored, before, QWEN_PATHS), before, QWEN_MODELS);
  },
  begin: () => "qwen",
  // Entries of modelProviders win over OPENAI_MODEL and OPENAI_BASE_URL.
  rivals: [],
};

const CLINE_PROVIDER = "openai-compatible";

export const cline: ClientKind = {
  title: "Cline",
  configFile: (env, home) =>
    path.join(
      set(env, "CLINE_DATA_DIR") ?? path.join(set(env, "CLINE_DIR") ?? path.join(home, ".cline"), "data"),
      "settings",
      "providers.json",
    ),
  keyFileName: null,
  surface: "chat",
  prefers: [],
  write(text, { base, key, model }) {
    const provider = {
      settings: { provider: CLINE_PROVIDER, apiKey: key, model: model.id, baseUrl: `${base}/v1` },
      // Cline discards a file with an entry that lacks these two.
      updatedAt: new Date(0).toISOString(),
      tokenSource: "manual",
    };
    const fresh = text.trim() === "" ? '{\n  "version": 1,\n  "modes": {}\n}\n' : text;
    return setJson(setJson(fresh, ["lastUsedProvider"], CLINE_PROVIDER), ["providers", CLINE_PROVIDER], provider);
  },
  undo(text, before) {
    const restored = restoreJson(text, before, [["lastUsedProvider"], ["providers", CLINE_PROVIDER]]);
    return before === "" ? restoreJson(restored, before, [["version"], ["modes"]]) : restored;
  },
  begin: () => "cline",
  rivals: [],
};

const AIDER_KEYS = ["openai-api-base", "openai-api-key", "model", "weak-model"] as const;

export const aider: ClientKind = {
  title: "aider",
  configFile: (_env, home) => path.join(home, ".aider.conf.yml"),
  keyFileName: null,
  surface: "chat",
  prefers: [],
  write(text, { base, key, model, smallModel }) {
    // The first openai/ selects the protocol; what follows is sent as the model.
    const values = [`${base}/v1`, key, `openai/${model.id}`, `openai/${smallModel.id}`];
    return setYaml(text, new Map(AIDER_KEYS.map((name, index) => [name, values[index]])));
  },
  undo: (text, before) => setYaml(text, new Map(AIDER_KEYS.map((name) => [name, readYamlValue(before, name)]))),
  begin: () => "aider",
  rivals: ["AIDER_MODEL", "AIDER_WEAK_MODEL", "AIDER_OPENAI_API_BASE", "AIDER_OPENAI_API_KEY"],
};

const PI_PROVIDER = ["providers", "gateway"];

function piModel({ id, name, contextTokens, outputTokens, hasReasoning, readsImages }: KnownModel) {
  return {
    id,
    name,
    reasoning: hasReasoning,
    input: readsImages ? ["text", "image"] : ["text"],
    ...(contextTokens === null ? {} : { contextWindow: contextTokens }),
    ...(outputTokens === null ? {} : { maxTokens: outputTokens }),
  };
}

function piProvider({ base, keyFile, models }: Settings) {
  return {
    baseUrl: `${base}/v1`,
    api: "openai-completions",
    // A command in the shell of the user.
    apiKey: `!cat '${keyFile.replaceAll("'", "'\\''")}'`,
    // The gateway refuses `store` for models that have no such option.
    compat: { supportsStore: false },
    models: models.map(piModel),
  };
}

export const pi: ClientKind = {
  title: "pi",
  configFile: (env, home) =>
    path.join(set(env, "PI_CODING_AGENT_DIR") ?? path.join(home, ".pi", "agent"), "models.json"),
  keyFileName: "gateway-key",
  surface: "chat",
  prefers: [],
  write: (text, settings) => setJson(text, PI_PROVIDER, piProvider(settings)),
  undo: (text, before) => restoreJson(text, before, [PI_PROVIDER]),
  begin: (model) => `pi --model gateway/${model}`,
  rivals: [],
};
