import { type Attachment, type Draft, isChat, isImage, type Turn } from "./draft.ts";

export type Body = { readonly [name: string]: unknown };
/** A request ready to send, or a validation error. */
export type ComposedRequest =
  | { readonly kind: "json"; readonly body: Body }
  | { readonly kind: "form"; readonly fields: readonly (readonly [string, string])[] }
  | { readonly kind: "problem"; readonly message: string; readonly at: string };

const MESSAGES_TOKENS = 1024;

class ValidationError extends Error {
  readonly at: string;
  constructor(at: string, message: string) {
    super(message);
    this.at = at;
  }
}

/** Encodes an attachment in a body: as data URL, or as a placeholder for code export. */
export type EncodeAttachment = (file: Attachment) => string;
const asDataUrl: EncodeAttachment = ({ type, base64 }) => `data:${type};base64,${base64}`;

export function composeRequest(draft: Draft, encodeAttachment: EncodeAttachment = asDataUrl): ComposedRequest {
  try {
    if (draft.model.trim() === "") throw new ValidationError("model", "Select a model.");
    if (draft.surface === "transcriptions") return { kind: "form", fields: transcriptionFields(draft) };
    return { kind: "json", body: bodyOf(draft, encodeAttachment) };
  } catch (problem) {
    if (problem instanceof ValidationError) return { kind: "problem", message: problem.message, at: problem.at };
    throw problem;
  }
}

function bodyOf(draft: Draft, encodeAttachment: EncodeAttachment): Body {
  const { surface } = draft;
  if (isChat(surface)) return { chat, messages, responses }[surface](draft, encodeAttachment);
  if (surface === "embeddings") return embeddings(draft);
  if (surface === "rerank") return rerank(draft);
  if (surface === "moderations") return moderations(draft, encodeAttachment);
  if (surface === "images") return images(draft);
  return surface === "speech" ? speech(draft) : decisions(draft, encodeAttachment);
}

function chat(draft: Draft, encodeAttachment: EncodeAttachment): Body {
  const parts = draft.attachments.map((file) =>
    isImage(file)
      ? { type: "image_url", image_url: { url: encodeAttachment(file) } }
      : { type: "file", file: { filename: file.name, file_data: encodeAttachment(file) } },
  );
  const content = parts.length === 0 ? draft.prompt : [{ type: "text", text: draft.prompt }, ...parts];
  const system = draft.system === "" ? [] : [{ role: "system", content: draft.system }];
  const schema = parseJsonField("schema", draft.schema);
  return {
    model: draft.model,
    messages: [...system, ...conversationOf(draft), { role: "user", content: requirePrompt(draft, content) }],
    ...sampling(draft, "max_tokens"),
    ...optionalField("stop", stopSequences(draft)),
    ...optionalField("seed", parseNumberField("seed", draft.seed)),
    ...(draft.effort === "" ? {} : { reasoning_effort: draft.effort }),
    ...optionalField("tools", parseJsonField("tools", draft.tools)),
    ...(schema === undefined
      ? {}
      : { response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema } } }),
    ...(draft.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

function messages(draft: Draft, encodeAttachment: EncodeAttachment): Body {
  const parts = draft.attachments.map((file) => ({
    type: isImage(file) ? "image" : "document",
    source: { type: "base64", media_type: file.type, data: encodeAttachment(file).replace(/^data:[^,]*,/, "") },
    ...(isImage(file) ? {} : { title: file.name }),
  }));
  const content = parts.length === 0 ? draft.prompt : [...parts, { type: "text", text: draft.prompt }];
  const schema = parseJsonField("schema", draft.schema);
  const output = {
    ...(draft.effort === "" ? {} : { effort: draft.effort }),
    ...(schema === undefined ? {} : { format: { type: "json_schema", schema } }),
  };
  return {
    model: draft.model,
    max_tokens: MESSAGES_TOKENS,
    ...(draft.system === "" ? {} : { system: draft.system }),
    messages: [...conversationOf(draft), { role: "user", content: requirePrompt(draft, content) }],
    ...sampling(draft, "max_tokens"),
    ...optionalField("stop_sequences", stopSequences(draft)),
    ...optionalField("tools", parseJsonField("tools", draft.tools)),
    ...(Object.keys(output).length === 0 ? {} : { output_config: output }),
    ...(draft.stream ? { stream: true } : {}),
  };
}

function responses(draft: Draft, encodeAttachment: EncodeAttachment): Body {
  const parts = draft.attachments.map((file) =>
    isImage(file)
      ? { type: "input_image", image_url: encodeAttachment(file) }
      : { type: "input_file", filename: file.name, file_data: encodeAttachment(file) },
  );
  const content = parts.length === 0 ? draft.prompt : [{ type: "input_text", text: draft.prompt }, ...parts];
  const isPlain = draft.turns.length === 0 && parts.length === 0;
  const schema = parseJsonField("schema", draft.schema);
  requirePrompt(draft, content);
  return {
    model: draft.model,
    ...(draft.system === "" ? {} : { instructions: draft.system }),
    input: isPlain ? draft.prompt : [...conversationOf(draft), { role: "user", content }],
    ...sampling(draft, "max_output_tokens"),
    ...(draft.effort === "" ? {} : { reasoning: { effort: draft.effort } }),
    ...optionalField("tools", parseJsonField("tools", draft.tools)),
    ...(schema === undefined
      ? {}
      : { text: { format: { type: "json_schema", name: "answer", strict: true, schema } } }),
    store: false,
    ...(draft.stream ? { stream: true } : {}),
  };
}

function embeddings(draft: Draft): Body {
  const lines = draft.prompt.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) throw new ValidationError("prompt", "Enter at least one text, one per line.");
  return {
    model: draft.model,
    input: lines.length === 1 ? lines[0] : lines,
    ...optionalField("dimensions", parseNumberField("dimensions", draft.dimensions)),
  };
}

function rerank(draft: Draft): Body {
  const documents = draft.prompt.split("\n").filter((line) => line.trim() !== "");
  if (draft.instructions.trim() === "") throw new ValidationError("instructions", "Enter a query.");
  if (documents.length === 0) throw new ValidationError("prompt", "Enter at least one document, one per line.");
  return { model: draft.model, query: draft.instructions, documents, return_documents: true };
}

function moderations(draft: Draft, encodeAttachment: EncodeAttachment): Body {
  const images = draft.attachments.filter(isImage);
  if (draft.prompt.trim() === "" && images.length === 0)
    throw new ValidationError("prompt", "Enter the text to judge.");
  if (images.length === 0) return { model: draft.model, input: draft.prompt };
  const text = draft.prompt.trim() === "" ? [] : [{ type: "text", text: draft.prompt }];
  const parts = images.map((file) => ({ type: "image_url", image_url: { url: encodeAttachment(file) } }));
  return { model: draft.model, input: [...text, ...parts] };
}

function images(draft: Draft): Body {
  if (draft.prompt.trim() === "") throw new ValidationError("prompt", "Describe the image.");
  return { model: draft.model, prompt: draft.prompt, ...(draft.size === "" ? {} : { size: draft.size }) };
}

function speech(draft: Draft): Body {
  if (draft.prompt.trim() === "") throw new ValidationError("prompt", "Enter the text to speak.");
  return {
    model: draft.model,
    input: draft.prompt,
    voice: draft.voice === "" ? "alloy" : draft.voice,
    response_format: draft.format === "" ? "mp3" : draft.format,
    ...optionalField("speed", parseNumberField("speed", draft.speed)),
    ...(draft.instructions === "" ? {} : { instructions: draft.instructions }),
  };
}

function decisions(draft: Draft, encodeAttachment: EncodeAttachment): Body {
  if (draft.state.trim() === "") throw new ValidationError("state", "Enter the state that the questions refer to.");
  const questions = parseJsonField("questions", draft.questions);
  if (questions === undefined) throw new ValidationError("questions", "Enter at least one question.");
  const images = draft.attachments.filter(isImage).map(encodeAttachment);
  const state: unknown = draft.state.trim().startsWith("{") ? parseJsonField("state", draft.state) : draft.state;
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

function conversationOf({ turns }: Draft): { role: Turn["role"]; content: string }[] {
  return turns.map(({ role, text }) => ({ role, content: text }));
}

function requirePrompt<T>(draft: Draft, content: T): T {
  if (draft.prompt.trim() === "") throw new ValidationError("prompt", "Enter a prompt.");
  return content;
}

function sampling(draft: Draft, limit: "max_tokens" | "max_output_tokens"): Body {
  return {
    ...optionalField(limit, parseNumberField("max_tokens", draft.max_tokens)),
    ...optionalField("temperature", parseNumberField("temperature", draft.temperature)),
    ...optionalField("top_p", parseNumberField("top_p", draft.top_p)),
  };
}

/** One per line; `\\n` and `\\t` stand for a newline and a tab. */
function stopSequences({ stop }: Draft): readonly string[] | undefined {
  const sequences = stop.split("\n").filter((line) => line !== "");
  if (sequences.length === 0) return undefined;
  return sequences.map((line) => line.replaceAll("\\n", "\n").replaceAll("\\t", "\t"));
}

function optionalField(name: string, value: unknown): Body {
  return value === undefined ? {} : { [name]: value };
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  tools: "Tools",
  schema: "Schema",
  questions: "Questions",
  state: "State",
  max_tokens: "Max output tokens",
  top_p: "Top-p",
  temperature: "Temperature",
  seed: "Seed",
  dimensions: "Dimensions",
  speed: "Speed",
};

function parseJsonField(name: string, text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new ValidationError(name, `${FIELD_NAMES[name] ?? name} must be valid JSON.`);
  }
}

function parseNumberField(name: string, text: string): number | undefined {
  if (text.trim() === "") return undefined;
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  throw new ValidationError(name, `${FIELD_NAMES[name] ?? name} must be a number.`);
}
