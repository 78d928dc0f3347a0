import { type Attachment, type Draft, isChat, type Turn } from "./draft.ts";

export type Body = { readonly [name: string]: unknown };
/** A request that can be sent, or what is still wrong with it. */
export type Composed =
  | { readonly is: "json"; readonly body: Body }
  | { readonly is: "form"; readonly fields: readonly (readonly [string, string])[] }
  | { readonly is: "problem"; readonly says: string; readonly at: string };

const MESSAGES_TOKENS = 1024;

class Problem extends Error {
  readonly at: string;
  constructor(at: string, says: string) {
    super(says);
    this.at = at;
  }
}

/** How an attachment stands in a body: its data, or a mark in its place where code is written. */
export type Spell = (file: Attachment) => string;
const asDataUrl: Spell = ({ type, base64 }) => `data:${type};base64,${base64}`;

/** The request a draft comes to. */
export function compose(draft: Draft, spell: Spell = asDataUrl): Composed {
  try {
    if (draft.model.trim() === "") throw new Problem("model", "Choose a model first.");
    if (draft.surface === "transcriptions") return { is: "form", fields: transcriptionFields(draft) };
    return { is: "json", body: bodyOf(draft, spell) };
  } catch (problem) {
    if (problem instanceof Problem) return { is: "problem", says: problem.message, at: problem.at };
    throw problem;
  }
}

function bodyOf(draft: Draft, spell: Spell): Body {
  const { surface } = draft;
  if (isChat(surface)) return { chat, messages, responses }[surface](draft, spell);
  if (surface === "embeddings") return embeddings(draft);
  return surface === "speech" ? speech(draft) : decisions(draft, spell);
}

function chat(draft: Draft, spell: Spell): Body {
  const parts = draft.images.map((image) => ({ type: "image_url", image_url: { url: spell(image) } }));
  const content = parts.length === 0 ? draft.prompt : [{ type: "text", text: draft.prompt }, ...parts];
  const system = draft.system === "" ? [] : [{ role: "system", content: draft.system }];
  const schema = jsonAt("schema", draft.schema);
  return {
    model: draft.model,
    messages: [...system, ...talk(draft), { role: "user", content: needed(draft, content) }],
    ...sampling(draft, "max_tokens"),
    ...(draft.effort === "" ? {} : { reasoning_effort: draft.effort }),
    ...given("tools", jsonAt("tools", draft.tools)),
    ...(schema === undefined
      ? {}
      : { response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema } } }),
    ...(draft.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

function messages(draft: Draft, spell: Spell): Body {
  const parts = draft.images.map((image) => ({
    type: "image",
    source: { type: "base64", media_type: image.type, data: spell(image).replace(/^data:[^,]*,/, "") },
  }));
  const content = parts.length === 0 ? draft.prompt : [...parts, { type: "text", text: draft.prompt }];
  const schema = jsonAt("schema", draft.schema);
  const output = {
    ...(draft.effort === "" ? {} : { effort: draft.effort }),
    ...(schema === undefined ? {} : { format: { type: "json_schema", schema } }),
  };
  return {
    model: draft.model,
    max_tokens: MESSAGES_TOKENS,
    ...(draft.system === "" ? {} : { system: draft.system }),
    messages: [...talk(draft), { role: "user", content: needed(draft, content) }],
    ...sampling(draft, "max_tokens"),
    ...given("tools", jsonAt("tools", draft.tools)),
    ...(Object.keys(output).length === 0 ? {} : { output_config: output }),
    ...(draft.stream ? { stream: true } : {}),
  };
}

function responses(draft: Draft, spell: Spell): Body {
  const parts = draft.images.map((image) => ({ type: "input_image", image_url: spell(image) }));
  const content = parts.length === 0 ? draft.prompt : [{ type: "input_text", text: draft.prompt }, ...parts];
  const isPlain = draft.turns.length === 0 && parts.length === 0;
  const schema = jsonAt("schema", draft.schema);
  needed(draft, content);
  return {
    model: draft.model,
    ...(draft.system === "" ? {} : { instructions: draft.system }),
    input: isPlain ? draft.prompt : [...talk(draft), { role: "user", content }],
    ...sampling(draft, "max_output_tokens"),
    ...(draft.effort === "" ? {} : { reasoning: { effort: draft.effort } }),
    ...given("tools", jsonAt("tools", draft.tools)),
    ...(schema === undefined
      ? {}
      : { text: { format: { type: "json_schema", name: "answer", strict: true, schema } } }),
    store: false,
    ...(draft.stream ? { stream: true } : {}),
  };
}

function embeddings(draft: Draft): Body {
  const lines = draft.prompt.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) throw new Problem("prompt", "Write a text to turn into a vector; each line is one.");
  return {
    model: draft.model,
    input: lines.length === 1 ? lines[0] : lines,
    ...given("dimensions", numberAt("dimensions", draft.dimensions)),
  };
}

function speech(draft: Draft): Body {
  if (draft.prompt.trim() === "") throw new Problem("prompt", "Write the text to speak.");
  return {
    model: draft.model,
    input: draft.prompt,
    voice: draft.voice === "" ? "alloy" : draft.voice,
    response_format: draft.format === "" ? "mp3" : draft.format,
    ...given("speed", numberAt("speed", draft.speed)),
    ...(draft.instructions === "" ? {} : { instructions: draft.instructions }),
  };
}

function decisions(draft: Draft, spell: Spell): Body {
  if (draft.state.trim() === "") throw new Problem("state", "Write what the questions are about.");
  const questions = jsonAt("questions", draft.questions);
  if (questions === undefined) throw new Problem("questions", "Ask at least one question.");
  const images = draft.images.map(spell);
  const state: unknown = draft.state.trim().startsWith("{") ? jsonAt("state", draft.state) : draft.state;
  return { model: draft.model, state, questions, ...(images.length === 0 ? {} : { images }) };
}

function transcriptionFields(draft: Draft): (readonly [string, string])[] {
  const format = ["json", "text", "srt", "verbose_json", "vtt"].includes(draft.format) ? draft.format : "json";
  const fields: readonly (readonly [string, string])[] = [
    ["model", draft.model],
    ["response_format", format],
    ["language", draft.language],
    ["prompt", draft.prompt],
    ["temperature", draft.temperature],
  ];
  return fields.filter(([, value]) => value !== "");
}

function talk({ turns }: Draft): { role: Turn["role"]; content: string }[] {
  return turns.map(({ role, text }) => ({ role, content: text }));
}

function needed<T>(draft: Draft, content: T): T {
  if (draft.prompt.trim() === "") throw new Problem("prompt", "Write a prompt first.");
  return content;
}

function sampling(draft: Draft, limit: "max_tokens" | "max_output_tokens"): Body {
  return {
    ...given(limit, numberAt("max_tokens", draft.max_tokens)),
    ...given("temperature", numberAt("temperature", draft.temperature)),
    ...given("top_p", numberAt("top_p", draft.top_p)),
  };
}

function given(name: string, value: unknown): Body {
  return value === undefined ? {} : { [name]: value };
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  tools: "The tools",
  schema: "The schema",
  questions: "The questions",
  state: "The state",
  max_tokens: "The longest output",
  top_p: "Top-p",
};

function jsonAt(name: string, text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(name, `${FIELD_NAMES[name] ?? name} must be JSON: look for a missing comma or quote.`);
  }
}

function numberAt(name: string, text: string): number | undefined {
  if (text.trim() === "") return undefined;
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  throw new Problem(name, `${FIELD_NAMES[name] ?? name} must be a number.`);
}
