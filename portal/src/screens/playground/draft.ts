/** Surfaces in tab order. */
export const SURFACES = [
  { id: "chat", label: "Chat", path: "/v1/chat/completions" },
  { id: "messages", label: "Messages", path: "/v1/messages" },
  { id: "responses", label: "Responses", path: "/v1/responses" },
  { id: "embeddings", label: "Embeddings", path: "/v1/embeddings" },
  { id: "rerank", label: "Rerank", path: "/v1/rerank" },
  { id: "moderations", label: "Moderations", path: "/v1/moderations" },
  { id: "images", label: "Images", path: "/v1/images/generations" },
  { id: "speech", label: "Speech", path: "/v1/audio/speech" },
  { id: "transcriptions", label: "Transcription", path: "/v1/audio/transcriptions" },
  { id: "decisions", label: "Decisions", path: "/v1/decisions" },
] as const;
export type Surface = (typeof SURFACES)[number]["id"];
export type ChatSurface = "chat" | "messages" | "responses";

export function isChat(surface: Surface): surface is ChatSurface {
  return surface === "chat" || surface === "messages" || surface === "responses";
}

export function pathOf(surface: Surface): string {
  return SURFACES.find(({ id }) => id === surface)?.path ?? "";
}

export type Turn = { readonly role: "user" | "assistant"; readonly text: string };
/** A selected file, held in memory only. */
export type Attachment = { readonly name: string; readonly type: string; readonly base64: string };

/** Settings in the URL, shared with the link. Empty: not sent. */
export type Settings = {
  readonly surface: Surface;
  readonly model: string;
  readonly stream: boolean;
  readonly max_tokens: string;
  readonly temperature: string;
  readonly top_p: string;
  readonly stop: string;
  readonly seed: string;
  readonly effort: string;
  readonly dimensions: string;
  readonly voice: string;
  readonly format: string;
  readonly size: string;
  readonly speed: string;
  readonly language: string;
};

/** Optional request parameters. */
export type SettingName = Exclude<keyof Settings, "surface" | "model" | "stream">;
/** Request parameters as written; empty: not sent. */
export type Parameters = Readonly<Record<SettingName, string>>;

/** Reads every parameter by its name. */
export function parametersFrom(get: (name: SettingName) => string): Parameters {
  return {
    max_tokens: get("max_tokens"),
    temperature: get("temperature"),
    top_p: get("top_p"),
    stop: get("stop"),
    seed: get("seed"),
    effort: get("effort"),
    dimensions: get("dimensions"),
    voice: get("voice"),
    format: get("format"),
    size: get("size"),
    speed: get("speed"),
    language: get("language"),
  };
}

export const NO_PARAMETERS: Parameters = parametersFrom(() => "");

/** Content of the request; never part of the URL. */
export type Content = {
  readonly system: string;
  readonly prompt: string;
  readonly tools: string;
  readonly schema: string;
  /** Images and PDF files. */
  readonly attachments: readonly Attachment[];
  readonly instructions: string;
  readonly state: string;
  readonly questions: string;
};

/** One request to one model; `turns` is the conversation so far. */
export type Draft = Settings & Content & { readonly turns: readonly Turn[] };

export const isImage = ({ type }: Attachment) => type.startsWith("image/");

const QUESTIONS = `{
  "urgent": { "type": "noul", "instructions": "Does this need a reply today?" },
  "queue": {
    "type": "choice",
    "instructions": "Which team should handle it?",
    "criteria": { "billing": "payments and invoices", "support": "technical problems" }
  },
  "mood": { "type": "score", "instructions": "How satisfied is the customer?", "criteria": ["angry", "calm", "happy"] }
}`;

export const EMPTY_CONTENT: Content = {
  system: "",
  prompt: "",
  tools: "",
  schema: "",
  attachments: [],
  instructions: "",
  state: "My October invoice has the wrong address. Could you send a corrected one?",
  questions: QUESTIONS,
};

/** An example tool in the format of the surface. */
export function toolExample(surface: ChatSurface): string {
  const schema = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  };
  const [name, description] = ["get_weather", "Get the current weather in a city."];
  const tool = {
    chat: { type: "function", function: { name, description, parameters: schema } },
    messages: { name, description, input_schema: schema },
    responses: { type: "function", name, description, parameters: schema },
  }[surface];
  return JSON.stringify([tool], null, 2);
}

export const SCHEMA_EXAMPLE = JSON.stringify(
  {
    type: "object",
    properties: { answer: { type: "string" }, sure: { type: "boolean" } },
    required: ["answer", "sure"],
    additionalProperties: false,
  },
  null,
  2,
);
