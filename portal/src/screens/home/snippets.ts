import type { Snippet } from "../../ui/code-block.tsx";

type Target = {
  /** `https://gateway.example.eu`, without a path. */
  readonly origin: string;
  readonly model: string;
  /** The key, or a placeholder. */
  readonly key: string;
};

const QUESTION = "Say hello in French.";

/** The same first request for each supported client. */
export function firstRequestSnippets(target: Target): Snippet[] {
  return [
    { id: "curl", label: "curl", code: curl(target) },
    { id: "openai-ts", label: "OpenAI SDK, TypeScript", code: openaiTypeScript(target) },
    { id: "openai-python", label: "OpenAI SDK, Python", code: openaiPython(target) },
    { id: "anthropic", label: "Anthropic SDK", code: anthropic(target) },
    { id: "claude-code", label: "Claude Code", code: claudeCode(target) },
    { id: "codex", label: "Codex", code: codex(target) },
  ];
}

function curl({ origin, model, key }: Target): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: QUESTION }] });
  return `curl ${origin}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`;
}

function openaiTypeScript({ origin, model, key }: Target): string {
  return `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${origin}/v1", apiKey: "${key}" });
const answer = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "${QUESTION}" }],
});
console.log(answer.choices[0]?.message.content);`;
}

function openaiPython({ origin, model, key }: Target): string {
  return `from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key="${key}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "${QUESTION}"}],
)
print(answer.choices[0].message.content)`;
}

function anthropic({ origin, model, key }: Target): string {
  return `import Anthropic from "@anthropic-ai/sdk";

// Base URL without /v1: the SDK adds it.
const client = new Anthropic({ baseURL: "${origin}", authToken: "${key}", apiKey: null });
const answer = await client.messages.create({
  model: "${model}",
  max_tokens: 256,
  messages: [{ role: "user", content: "${QUESTION}" }],
});
console.log(answer.content);`;
}

function claudeCode({ origin, model, key }: Target): string {
  return `export ANTHROPIC_BASE_URL=${origin}
export ANTHROPIC_AUTH_TOKEN=${key}
export ANTHROPIC_MODEL=${model}
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}
claude -p "${QUESTION}"`;
}

function codex({ origin, model, key }: Target): string {
  return `# ~/.codex/config.toml
model = "${model}"
model_provider = "gateway"

[model_providers.gateway]
name = "Inference Gateway"
base_url = "${origin}/v1"
wire_api = "responses"
env_key = "GATEWAY_KEY"

# Then, in a shell:
#   export GATEWAY_KEY=${key}
#   codex exec "${QUESTION}"`;
}
