/** What the playground can call, in the order of its tabs. */
export const SURFACES = [
  { id: "chat", label: "Chat", path: "/v1/chat/completions" },
  { id: "messages", label: "Messages", path: "/v1/messages" },
  { id: "responses", label: "Responses", path: "/v1/responses" },
  { id: "embeddings", label: "Embeddings", path: "/v1/embeddings" },
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
/** A picture or a sound that was chosen: its bytes stay in this page. */
export type Attachment = { readonly name: string; readonly type: string; readonly base64: string };

/** Settings that stand in the address: whoever gets the link gets these. Empty means not sent. */
export type Settings = {
  readonly surface: Surface;
  readonly model: string;
  readonly stream: boolean;
  readonly max_tokens: string;
  readonly temperature: string;
  readonly top_p: string;
  readonly effort: string;
  readonly dimensions: string;
  readonly voice: string;
  readonly format: string;
  readonly speed: string;
  readonly language: string;
};

/** What somebody wrote: it never leaves the page but in the request itself. */
export type Content = {
  readonly system: string;
  readonly turns: readonly Turn[];
  readonly prompt: string;
  readonly tools: string;
  readonly schema: string;
  readonly images: readonly Attachment[];
  readonly instructions: string;
  readonly state: string;
  readonly questions: string;
};

export type Draft = Settings & Content;

const QUESTIONS = `{
  "urgent": { "type": "noul", "instructions": "Does this need an answer today?" },
  "queue": {
    "type": "choice",
    "instructions": "Who should answer it?",
    "criteria": { "billing": "money and invoices", "support": "something does not work" }
  },
  "mood": { "type": "score", "instructions": "How content is the writer?", "criteria": ["angry", "calm", "happy"] }
}`;

export const EMPTY_CONTENT: Content = {
  system: "",
  turns: [],
  prompt: "",
  tools: "",
  schema: "",
  images: [],
  instructions: "",
  state: "My invoice of October has the wrong address. Could you send a new one?",
  questions: QUESTIONS,
};

/** An example of a tool in the words of each chat surface. */
export function toolExample(surface: ChatSurface): string {
  const schema = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  };
  const [name, description] = ["get_weather", "The weather in a city, now."];
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
