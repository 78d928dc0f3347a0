/** Slugs that name the same capability; the first one is shown. */
const SYNONYMS: readonly (readonly string[])[] = [
  ["vision", "image_input"],
  ["json_schema", "json_mode"],
];

/** Capabilities without synonyms, in a stable order. */
export function distinctCapabilities(slugs: readonly string[]): string[] {
  const hidden = new Set(SYNONYMS.flatMap((names) => names.filter((name) => slugs.includes(name)).slice(1)));
  return [...new Set(slugs)].filter((slug) => !hidden.has(slug));
}

/** The catalogue's name, except where another name is the common one. */
const NAMES: Readonly<Record<string, string>> = { image_input: "Vision", vision: "Vision" };

export function capabilityName(slug: string, names: ReadonlyMap<string, string>): string {
  return NAMES[slug] ?? names.get(slug) ?? slug;
}

const FEATURES: Readonly<Record<string, string>> = {
  tools: "Tool calling",
  parallel_tools: "Parallel tool calls",
  json_schema: "JSON schema output",
  reasoning: "Reasoning",
  reasoning_control: "Reasoning control",
  sampling: "Sampling control",
  image_input: "Vision",
  prompt_caching: "Prompt caching",
  logprobs: "Log probabilities",
};

export function featureName(name: string): string {
  return FEATURES[name] ?? name.replaceAll("_", " ");
}

const DIALECTS: Readonly<Record<string, string>> = {
  chat_completions: "Chat Completions",
  messages: "Messages",
  generate_content: "Gemini generateContent",
  converse: "Bedrock Converse",
};

export function dialectName(dialect: string): string {
  return DIALECTS[dialect] ?? dialect;
}
