import type { Client, Target } from "./client-kind.ts";

const command = (name: string, { origin, key }: Target) => ({
  title: "Or let the command do it",
  says: "It keeps what is in the file, sends one test request, and takes everything back with --undo. Add --dry-run to look first.",
  code: `GATEWAY_URL=${origin} GATEWAY_KEY=${key} bin/gateway connect ${name}`,
});

const isClaude = (model: string) => /claude/.test(model);

export const AGENTS: readonly Client[] = [
  {
    id: "claude-code",
    title: "Claude Code",
    kind: "Coding agents",
    about: "Anthropic’s coding agent, on any chat model.",
    speaks: "messages",
    base: "without /v1",
    app: ["Claude Code"],
    steps: (target) => [
      {
        title: "Tell it where the gateway is",
        file: "~/.claude/settings.json",
        code: JSON.stringify({ env: claudeVariables(target) }, null, 2),
      },
      command("claude-code", target),
      { title: "Begin", code: 'claude -p "Say hello"' },
    ],
    traps: [
      "The address is without /v1: Claude Code adds it.",
      "Leave ANTHROPIC_API_KEY unset, in the shell too: a key of Anthropic’s would win over the token.",
      "The model picker lists only ids that begin with claude or anthropic. Others are set as above, or with /model.",
      "For models that are not Claude, ENABLE_TOOL_SEARCH=false spares the refused requests at the start of a session, and CLAUDE_CODE_MAX_CONTEXT_TOKENS says how much the model reads.",
    ],
  },
  {
    id: "codex",
    title: "Codex",
    kind: "Coding agents",
    about: "OpenAI’s coding agent, on any chat model.",
    speaks: "responses",
    base: "with /v1",
    app: ["Codex"],
    steps: (target) => [
      {
        title: "Keep the key in a file of your own",
        code: `umask 077; printf '%s\\n' '${target.key}' > ~/.codex/gateway-key`,
      },
      { title: "Name the gateway as a provider", file: "~/.codex/config.toml", code: codexToml(target) },
      command("codex", target),
      { title: "Begin", code: 'codex exec "Say hello"' },
    ],
    traps: [
      'wire_api must be "responses": Codex refuses "chat".',
      "With env_key in place of auth, Codex does not read the gateway’s list of models and warns that it knows nothing of them.",
      "The provider ids openai, ollama and lmstudio are reserved: use another, such as gateway.",
      "A refused key or an empty wallet makes it reconnect up to five times before it shows the reason.",
    ],
  },
  {
    id: "opencode",
    title: "opencode",
    kind: "Coding agents",
    about: "The open coding agent for the terminal.",
    speaks: "chat completions",
    base: "with /v1",
    app: ["opencode", "Vercel AI SDK"],
    steps: (target) => [
      {
        title: "Keep the key in a file of your own",
        code: `umask 077; printf '%s\\n' '${target.key}' > ~/.config/opencode/gateway-key`,
      },
      { title: "Add the gateway as a provider", file: "~/.config/opencode/opencode.json", code: opencodeJson(target) },
      command("opencode", target),
      { title: "Begin", code: 'opencode run "Say hello"' },
    ],
    traps: [
      "Only models that are listed under models can be picked; limit tells it when to shorten a conversation.",
      "The model’s name has the provider in front: gateway/ and then the whole id.",
    ],
  },
  {
    id: "continue",
    title: "Continue",
    kind: "Coding agents",
    about: "The assistant for VS Code, JetBrains and the terminal.",
    speaks: "chat completions",
    base: "with /v1",
    app: null,
    steps: (target) => [
      { title: "Add a model", file: "~/.continue/config.yaml", code: continueYaml(target) },
      command("continue", target),
      { title: "Begin", code: 'cn -p "Say hello"' },
    ],
    traps: [
      "provider is openai, whatever the model: it names the dialect.",
      "apiBase ends with /v1.",
      "Somebody who is signed in to Continue’s hub may have another configuration chosen: pick the local one.",
    ],
  },
  {
    id: "cursor",
    title: "Cursor",
    kind: "Coding agents",
    about: "The editor, with its base address overridden.",
    speaks: "chat completions",
    base: "with /v1",
    app: null,
    steps: ({ origin, model, key }) => [
      {
        title: "Override the base address",
        says: "Settings, Models, API Keys: switch on “Override OpenAI Base URL” and fill in both fields.",
        file: "Override OpenAI Base URL",
        code: `${origin}/v1`,
      },
      { title: "The key", file: "OpenAI API Key", code: key },
      { title: "Add the model by its id", file: "Add model", code: model },
    ],
    traps: [
      "Cursor calls from its own servers: an address on localhost or in a private network cannot be reached. The gateway needs a public address.",
      "The override holds for all models: switch it off to go back to Cursor’s own.",
      "Prompts pass through Cursor’s servers first. For a workspace with a sovereignty floor that is a leak beside the gateway.",
      "Take ids as they are here, with the creator in front: a bare name such as gpt-5 is claimed by Cursor itself.",
    ],
  },
];

function claudeVariables({ origin, model, key, contextTokens }: Target): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: "1",
    ...(isClaude(model) || contextTokens === null ? {} : { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextTokens) }),
    ...(isClaude(model) ? {} : { ENABLE_TOOL_SEARCH: "false" }),
  };
}

function codexToml({ origin, model }: Target): string {
  return `model = "${model}"
model_provider = "gateway"

[model_providers.gateway]
name = "Inference Gateway"
base_url = "${origin}/v1"
wire_api = "responses"
auth = { command = "sh", args = ["-c", "cat ~/.codex/gateway-key"] }`;
}

function opencodeJson({ origin, model, contextTokens }: Target): string {
  const limit =
    contextTokens === null ? {} : { limit: { context: contextTokens, output: Math.min(contextTokens, 32_000) } };
  return JSON.stringify(
    {
      $schema: "https://opencode.ai/config.json",
      model: `gateway/${model}`,
      provider: {
        gateway: {
          npm: "@ai-sdk/openai-compatible",
          name: "Inference Gateway",
          options: { baseURL: `${origin}/v1`, apiKey: "{file:~/.config/opencode/gateway-key}" },
          models: { [model]: { name: model, ...limit } },
        },
      },
    },
    null,
    2,
  );
}

function continueYaml({ origin, model, key }: Target): string {
  return `name: Local
version: 1.0.0
schema: v1
models:
  - name: Gateway
    provider: openai
    model: ${model}
    apiBase: ${origin}/v1
    apiKey: ${key}
    roles: [chat, edit, apply]`;
}
