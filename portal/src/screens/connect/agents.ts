import type { Client, Target } from "./client-kind.ts";

const command = (name: string, { origin, key }: Target) => ({
  title: "Or run the connect command",
  description:
    "Keeps existing settings and sends one test request. Use --dry-run to preview the changes and --undo to revert them.",
  code: `GATEWAY_URL=${origin} GATEWAY_KEY=${key} bin/gateway connect ${name}`,
});

const isClaude = (model: string) => /claude/.test(model);

export const AGENTS: readonly Client[] = [
  {
    id: "claude-code",
    title: "Claude Code",
    kind: "Coding agents",
    about: "Anthropic’s coding agent, on any chat model.",
    apis: "messages",
    base: "without /v1",
    app: ["Claude Code"],
    steps: (target) => [
      {
        title: "Configure the gateway",
        file: "~/.claude/settings.json",
        code: JSON.stringify({ env: claudeVariables(target) }, null, 2),
      },
      command("claude-code", target),
      { title: "Test the connection", code: 'claude -p "Say hello"' },
    ],
    pitfalls: [
      "Use the base URL without /v1: Claude Code adds it.",
      "Leave ANTHROPIC_API_KEY unset, also in your shell: it takes precedence over the token.",
      "The model picker only lists IDs that start with claude or anthropic. Set other models as shown above, or with /model.",
      "For other models, ENABLE_TOOL_SEARCH=false avoids rejected requests at the start of a session, and CLAUDE_CODE_MAX_CONTEXT_TOKENS sets the context length.",
    ],
  },
  {
    id: "codex",
    title: "Codex",
    kind: "Coding agents",
    about: "OpenAI’s coding agent, on any chat model.",
    apis: "responses",
    base: "with /v1",
    app: ["Codex"],
    steps: (target) => [
      {
        title: "Store the key in a file",
        code: `umask 077; printf '%s\\n' '${target.key}' > ~/.codex/gateway-key`,
      },
      { title: "Add the gateway as a provider", file: "~/.codex/config.toml", code: codexToml(target) },
      command("codex", target),
      { title: "Test the connection", code: 'codex exec "Say hello"' },
    ],
    pitfalls: [
      'wire_api must be "responses": Codex does not accept "chat".',
      "With env_key instead of auth, Codex does not read the gateway’s model list and warns about unknown models.",
      "The provider IDs openai, ollama and lmstudio are reserved. Use another one, such as gateway.",
      "With an invalid key or an empty wallet, Codex reconnects up to five times before it shows the error.",
    ],
  },
  {
    id: "gemini-cli",
    title: "Gemini CLI",
    kind: "Coding agents",
    about: "Google’s coding agent, on any chat model.",
    apis: "Gemini",
    base: "without /v1",
    app: ["Gemini CLI"],
    steps: ({ origin, model, key }) => [
      {
        title: "Choose the API key as authentication",
        file: "~/.gemini/settings.json",
        code: JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } } }, null, 2),
      },
      {
        title: "Set the base URL, the key and the model",
        code: `export GOOGLE_GEMINI_BASE_URL=${origin}\nexport GEMINI_API_KEY=${key}\nexport GEMINI_MODEL=${model}`,
      },
      { title: "Test the connection", code: 'gemini -p "Say hello"' },
    ],
    pitfalls: [
      "Without the setting, the base URL alone selects an authentication type that the CLI rejects as invalid.",
      "Use the base URL without /v1beta: the CLI adds it.",
      "For titles and routing it asks for small Gemini models by fixed names, which must be available too.",
    ],
  },
  {
    id: "opencode",
    title: "opencode",
    kind: "Coding agents",
    about: "Open-source coding agent for the terminal.",
    apis: "chat completions",
    base: "with /v1",
    app: ["opencode", "Vercel AI SDK"],
    steps: (target) => [
      {
        title: "Store the key in a file",
        code: `umask 077; printf '%s\\n' '${target.key}' > ~/.config/opencode/gateway-key`,
      },
      { title: "Add the gateway as a provider", file: "~/.config/opencode/opencode.json", code: opencodeJson(target) },
      command("opencode", target),
      { title: "Test the connection", code: 'opencode run "Say hello"' },
    ],
    pitfalls: [
      "Only models listed under models can be selected. limit defines when a conversation is compacted.",
      "Prefix the model with the provider: gateway/ followed by the full model ID.",
    ],
  },
  {
    id: "continue",
    title: "Continue",
    kind: "Coding agents",
    about: "The assistant for VS Code, JetBrains and the terminal.",
    apis: "chat completions",
    base: "with /v1",
    app: null,
    steps: (target) => [
      { title: "Add the model", file: "~/.continue/config.yaml", code: continueYaml(target) },
      command("continue", target),
      { title: "Test the connection", code: 'cn -p "Say hello"' },
    ],
    pitfalls: [
      "provider is always openai: it selects the API format, not the model’s provider.",
      "apiBase ends with /v1.",
      "If you are signed in to Continue Hub, select the local configuration.",
    ],
  },
  {
    id: "cursor",
    title: "Cursor",
    kind: "Coding agents",
    about: "The editor, with its base URL overridden.",
    apis: "chat completions",
    base: "with /v1",
    app: null,
    steps: ({ origin, model, key }) => [
      {
        title: "Override the base URL",
        description: "Under Settings > Models > API Keys, turn on “Override OpenAI Base URL” and fill in both fields.",
        file: "Override OpenAI Base URL",
        code: `${origin}/v1`,
      },
      { title: "Enter the key", file: "OpenAI API Key", code: key },
      { title: "Add the model by ID", file: "Add model", code: model },
    ],
    pitfalls: [
      "Cursor sends requests from its own servers and can’t reach localhost or private networks. The gateway needs a public URL.",
      "The override applies to all models. Turn it off to use Cursor’s own models.",
      "Prompts pass through Cursor’s servers first, which bypasses a sovereignty floor of this workspace.",
      "Use full model IDs including the creator: Cursor routes bare names such as gpt-5 itself.",
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
