import { z } from "zod";

const inputPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("input_text"), text: z.string() }),
  z.strictObject({
    type: z.literal("input_image"),
    image_url: z.string().min(1),
    detail: z.enum(["auto", "low", "high", "original"]).optional(),
  }),
]);
const outputPart = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("output_text"),
    text: z.string(),
    annotations: z.array(z.unknown()).optional(),
    logprobs: z.array(z.unknown()).nullish(),
  }),
  z.strictObject({ type: z.literal("refusal"), refusal: z.string() }),
]);

const status = z.enum(["in_progress", "completed", "incomplete"]).optional();
/** Nothing is stored, so every item id is unknown; the parser reports it. */
const id = z.string().min(1).optional();

const inputMessage = z.strictObject({
  type: z.literal("message").optional(),
  id,
  role: z.enum(["user", "system", "developer"]),
  content: z.union([z.string(), z.array(inputPart)]),
  status,
});
const assistantMessage = z.strictObject({
  type: z.literal("message").optional(),
  id,
  role: z.literal("assistant"),
  content: z.union([z.string(), z.array(outputPart)]),
  status,
  phase: z.string().optional(),
});
const functionCall = z.strictObject({
  type: z.literal("function_call"),
  id,
  call_id: z.string().min(1).max(64),
  name: z.string().min(1),
  namespace: z.string().optional(),
  arguments: z.string(),
  status,
});
const functionCallOutput = z.strictObject({
  type: z.literal("function_call_output"),
  id,
  call_id: z.string().min(1).max(64),
  output: z.union([z.string(), z.array(inputPart)]),
  status,
});
const customToolCall = z.strictObject({
  type: z.literal("custom_tool_call"),
  id,
  call_id: z.string().min(1).max(64),
  name: z.string().min(1),
  namespace: z.string().optional(),
  input: z.string(),
  status,
});
const customToolCallOutput = functionCallOutput.extend({ type: z.literal("custom_tool_call_output") });
const reasoningItem = z.strictObject({
  type: z.literal("reasoning"),
  id,
  summary: z.array(z.strictObject({ type: z.literal("summary_text"), text: z.string() })),
  content: z.array(z.strictObject({ type: z.literal("reasoning_text"), text: z.string() })).nullish(),
  encrypted_content: z.string().nullish(),
});
const reference = z.strictObject({ type: z.literal("item_reference"), id: z.string() });
const item = z.union([
  inputMessage,
  assistantMessage,
  functionCall,
  functionCallOutput,
  customToolCall,
  customToolCallOutput,
  reasoningItem,
  reference,
]);

const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
export const FunctionTool = z.strictObject({
  type: z.literal("function"),
  name: toolName,
  description: z.string().nullish(),
  parameters: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
});
/** Accepted, as by the real service, but never called. */
const otherTool = z.looseObject({
  type: z.enum([
    "apply_patch",
    "code_interpreter",
    "custom",
    "image_generation",
    "local_shell",
    "namespace",
    "shell",
    "web_search",
    "web_search_preview",
  ]),
});
const namedTool = z.strictObject({ type: z.literal("function"), name: toolName });

const toolChoice = z.union([
  z.enum(["auto", "none", "required"]),
  namedTool,
  z.strictObject({
    type: z.literal("allowed_tools"),
    mode: z.enum(["auto", "required"]),
    tools: z.array(namedTool).min(1),
  }),
]);

const format = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({ type: z.literal("json_object") }),
  z.strictObject({
    type: z.literal("json_schema"),
    name: toolName,
    description: z.string().nullish(),
    schema: z.looseObject({}),
    strict: z.boolean().nullish(),
  }),
]);

const INCLUDABLE_FIELDS = [
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
  "message.input_image.image_url",
  "file_search_call.results",
  "web_search_call.action.sources",
  "code_interpreter_call.outputs",
  "computer_call_output.output.image_url",
] as const;

/** All fields of the API; any other is rejected, as by the real service. */
export const ResponsesBody = z.strictObject({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(item)]),
  instructions: z.string().nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().nullish() }).nullish(),
  background: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  include: z.array(z.enum(INCLUDABLE_FIELDS)).nullish(),
  max_output_tokens: z.int().min(16).nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  tools: z.array(z.union([FunctionTool, otherTool])).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: z.strictObject({ format: format.nullish(), verbosity: z.enum(["low", "medium", "high"]).nullish() }).nullish(),
  reasoning: z
    .strictObject({
      effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).nullish(),
      summary: z.enum(["auto", "concise", "detailed"]).nullish(),
    })
    .nullish(),
  truncation: z.enum(["auto", "disabled"]).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  client_metadata: z.record(z.string(), z.string()).nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  service_tier: z.string().nullish(),
  user: z.string().nullish(),
});
export type ResponsesRequestBody = z.infer<typeof ResponsesBody>;
export type ResponsesInputItem = z.infer<typeof item>;
export type ResponsesContentParts = readonly (z.infer<typeof inputPart> | z.infer<typeof outputPart>)[];
