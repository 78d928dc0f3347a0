import type { JsonObject } from "../../../../kit/json.ts";
import type { ReadShape } from "../../unread-members.ts";

const CACHE_CONTROL: ReadShape = { type: "read", ttl: "read" };

const PARTS: Readonly<Record<string, ReadShape>> = {
  text: { type: "read", text: "read", cache_control: CACHE_CONTROL },
  refusal: { type: "read", refusal: "read" },
  image_url: { type: "read", image_url: { url: "read", detail: "read" }, cache_control: CACHE_CONTROL },
  input_audio: { type: "read", input_audio: { data: "read", format: "read" } },
  file: {
    type: "read",
    file: { file_data: "read", file_id: "read", filename: "read" },
    cache_control: CACHE_CONTROL,
  },
};

const content: ReadShape = [({ type }: JsonObject) => PARTS[String(type)] ?? "read"];

const toolCalls: ReadShape = [
  {
    id: "read",
    type: "read",
    function: { name: "read", arguments: "read" },
    extra_content: { google: { thought_signature: "read" } },
    // A position in a stream that clients send back.
    index: "read",
  },
];

const INSTRUCTIONS: ReadShape = { role: "read", content, cache_control: CACHE_CONTROL };
const MESSAGES: Readonly<Record<string, ReadShape>> = {
  system: INSTRUCTIONS,
  developer: INSTRUCTIONS,
  user: INSTRUCTIONS,
  tool: { role: "read", content, cache_control: CACHE_CONTROL, tool_call_id: "read" },
  assistant: {
    role: "read",
    content,
    cache_control: CACHE_CONTROL,
    refusal: "read",
    reasoning_content: "read",
    // Compared with the decoded blocks elsewhere.
    reasoning_details: "read",
    tool_calls: toolCalls,
  },
};

/** The members of `messages` that the decoder reads. */
export const READ_IN_HISTORY: ReadShape = [({ role }: JsonObject) => MESSAGES[String(role)] ?? "read"];

/** The members of the settings with a structure; others are read as a whole. */
export const READ_IN_SETTINGS: Readonly<Record<"tools" | "tool_choice" | "response_format", ReadShape>> = {
  tools: [
    {
      type: "read",
      function: { name: "read", description: "read", parameters: "read", strict: "read" },
      cache_control: CACHE_CONTROL,
    },
  ],
  tool_choice: {
    type: "read",
    function: { name: "read" },
    allowed_tools: { mode: "read", tools: [{ type: "read", function: { name: "read" } }] },
  },
  response_format: {
    type: "read",
    json_schema: { name: "read", description: "read", schema: "read", strict: "read" },
  },
};
