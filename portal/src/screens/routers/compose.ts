export type Surface = "chat" | "messages" | "responses";

export function surfaceOf(text: string): Surface {
  return text === "messages" || text === "responses" ? text : "chat";
}

/** A request in a few fields. */
export type Composing = {
  readonly message: string;
  readonly maxTokens: string;
  readonly tools: boolean;
  readonly image: boolean;
  readonly schema: boolean;
};

export const EMPTY: Composing = {
  message: "What is the weather in Lyon?",
  maxTokens: "",
  tools: false,
  image: false,
  schema: false,
};

type Json = Record<string, unknown>;

const PARAMETERS = { type: "object", properties: { place: { type: "string" } }, required: ["place"] };
const TOOL = { name: "weather", description: "The weather at a place" };
const SCHEMA = { ...PARAMETERS, additionalProperties: false };
/** One grey pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
const MESSAGES_TOKENS = 1024;

/** The body as a caller of the surface would write it, without the model. */
export function composed(said: Composing, surface: Surface): Json {
  const tokens = Number.parseInt(said.maxTokens, 10);
  return BODIES[surface](said, Number.isNaN(tokens) ? undefined : tokens);
}

const BODIES: Readonly<Record<Surface, (said: Composing, tokens: number | undefined) => Json>> = {
  chat: ({ message, image, tools, schema }, tokens) => ({
    messages: [
      {
        role: "user",
        content: image
          ? [
              { type: "text", text: message },
              { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
            ]
          : message,
      },
    ],
    ...(tokens === undefined ? {} : { max_completion_tokens: tokens }),
    ...(tools ? { tools: [{ type: "function", function: { ...TOOL, parameters: PARAMETERS } }] } : {}),
    ...(schema
      ? { response_format: { type: "json_schema", json_schema: { name: "place", strict: true, schema: SCHEMA } } }
      : {}),
  }),
  messages: ({ message, image, tools, schema }, tokens) => ({
    max_tokens: tokens ?? MESSAGES_TOKENS,
    messages: [
      {
        role: "user",
        content: image
          ? [
              { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
              { type: "text", text: message },
            ]
          : message,
      },
    ],
    ...(tools ? { tools: [{ ...TOOL, input_schema: PARAMETERS }] } : {}),
    ...(schema ? { output_config: { format: { type: "json_schema", schema: SCHEMA } } } : {}),
  }),
  responses: ({ message, image, tools, schema }, tokens) => ({
    input: image
      ? [
          {
            role: "user",
            content: [
              { type: "input_text", text: message },
              { type: "input_image", image_url: `data:image/png;base64,${PIXEL}`, detail: "auto" },
            ],
          },
        ]
      : message,
    ...(tokens === undefined ? {} : { max_output_tokens: tokens }),
    ...(tools ? { tools: [{ type: "function", ...TOOL, parameters: PARAMETERS, strict: false }] } : {}),
    ...(schema ? { text: { format: { type: "json_schema", name: "place", strict: true, schema: SCHEMA } } } : {}),
  }),
};

/** The object that somebody pasted; undefined when it is none. */
export function requestIn(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
