export type Surface = "chat" | "messages" | "responses";

export function surfaceOf(text: string): Surface {
  return text === "messages" || text === "responses" ? text : "chat";
}

/** The form state of a dry-run request. */
export type RequestDraft = {
  readonly message: string;
  readonly maxTokens: string;
  readonly tools: boolean;
  readonly image: boolean;
  readonly schema: boolean;
};

export const EMPTY_DRAFT: RequestDraft = {
  message: "What is the weather in Lyon?",
  maxTokens: "",
  tools: false,
  image: false,
  schema: false,
};

type Json = Record<string, unknown>;

const PARAMETERS = { type: "object", properties: { place: { type: "string" } }, required: ["place"] };
const TOOL = { name: "weather", description: "Get the current weather for a place" };
const SCHEMA = { ...PARAMETERS, additionalProperties: false };
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
const MESSAGES_TOKENS = 1024;

/** The request body for a surface, without the model. */
export function composeBody(draft: RequestDraft, surface: Surface): Json {
  const tokens = Number.parseInt(draft.maxTokens, 10);
  return BODIES[surface](draft, Number.isNaN(tokens) ? undefined : tokens);
}

const BODIES: Readonly<Record<Surface, (draft: RequestDraft, tokens: number | undefined) => Json>> = {
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

/** Parses a JSON object; undefined: invalid. */
export function parseRequest(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
