import type { JsonObject } from "../../../../kit/json.ts";
import type { ReadShape } from "../../unread-members.ts";

const PARTS: Readonly<Record<string, ReadShape>> = {
  input_text: { type: "read", text: "read" },
  output_text: { type: "read", text: "read" },
  refusal: { type: "read", refusal: "read" },
  input_image: { type: "read", image_url: "read", file_id: "read", detail: "read" },
  input_file: { type: "read", file_id: "read", file_data: "read", file_url: "read", filename: "read" },
};
const content: ReadShape = [({ type }: JsonObject) => PARTS[String(type)] ?? "read"];

/** `id` and `status` echo a reply. */
const ITEM = { type: "read", id: "read", status: "read" } as const;
const texts: ReadShape = [{ type: "read", text: "read" }];

const ITEMS: Readonly<Record<string, ReadShape>> = {
  message: { ...ITEM, role: "read", content },
  function_call: { ...ITEM, call_id: "read", name: "read", namespace: "read", arguments: "read" },
  function_call_output: { ...ITEM, call_id: "read", output: content },
  custom_tool_call: { ...ITEM, call_id: "read", name: "read", namespace: "read", input: "read" },
  custom_tool_call_output: { ...ITEM, call_id: "read", output: content },
  reasoning: { ...ITEM, summary: texts, content: texts, encrypted_content: "read" },
};

/** The members of `input` that the decoder reads; items of other types are rejected or listed as a whole. */
export const READ_IN_INPUT: ReadShape = [({ type }: JsonObject) => ITEMS[String(type ?? "message")] ?? "read"];

const FUNCTION_TOOL: ReadShape = {
  type: "read",
  name: "read",
  description: "read",
  parameters: "read",
  strict: "read",
};
const CUSTOM_TOOL: ReadShape = {
  type: "read",
  name: "read",
  description: "read",
  format: { type: "read", syntax: "read", definition: "read" },
};

function toolShape({ type }: JsonObject): ReadShape {
  if (type === "function") return FUNCTION_TOOL;
  if (type === "custom") return CUSTOM_TOOL;
  return type === "namespace" ? NAMESPACE_TOOL : "read";
}

const NAMESPACE_TOOL: ReadShape = { type: "read", name: "read", description: "read", tools: [toolShape] };

const CHOSEN: ReadShape = { type: "read", name: "read", namespace: "read" };

/** The members of the settings with a structure; others are read or rejected by name as a whole. */
export const READ_IN_SETTINGS: Readonly<Record<"tools" | "tool_choice" | "text" | "stream_options", ReadShape>> = {
  tools: [toolShape],
  tool_choice: ({ type }: JsonObject) =>
    type === "allowed_tools" ? { type: "read", mode: "read", tools: [CHOSEN] } : CHOSEN,
  stream_options: { include_obfuscation: "read" },
  text: {
    verbosity: "read",
    format: { type: "read", name: "read", description: "read", schema: "read", strict: "read" },
  },
};
