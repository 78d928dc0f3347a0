import { z } from "zod";
import { ModelName } from "./model-name.ts";
import { wishFields } from "./routing-hints.ts";
import { ServiceTier } from "./service-tier.ts";

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

/** Types that the gateway reads; any other goes untouched to endpoints that speak the dialect, and nowhere else. */
const otherThan = (...types: readonly string[]) => {
  const names: ReadonlySet<string> = new Set(types);
  // Without `abort` a union would take this branch for the one that got furthest.
  const other = z.string().refine((type) => !names.has(type), { abort: true });
  return z.looseObject({ type: other.meta({ not: { enum: types } }) });
};

const inputText = z.looseObject({ type: z.literal("input_text"), text: z.string() });
const outputText = z.looseObject({ type: z.literal("output_text"), text: z.string() });
const refusal = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });
const inputImage = z.looseObject({
  type: z.literal("input_image"),
  image_url: optional(z.string("must be a string: a URL or a data URL")),
  file_id: optional(z.string()),
  detail: optional(z.string()),
});
const inputFile = z.looseObject({
  type: z.literal("input_file"),
  file_id: optional(z.string()),
  file_data: optional(z.string()),
  file_url: optional(z.string()),
  filename: optional(z.string()),
});
export const KnownPart = z.discriminatedUnion("type", [inputText, outputText, refusal, inputImage, inputFile]);
const contentPart = z.union([
  KnownPart,
  otherThan("input_text", "output_text", "refusal", "input_image", "input_file"),
]);
const content = z.union([z.string(), z.array(contentPart)]);

const itemId = optional(z.string().max(256));
const callId = z.string().min(1).max(256);

/** Also without a type: a role and a content are enough. */
const messageItem = z.looseObject({
  type: optional(z.literal("message")),
  id: itemId,
  role: z.enum(["user", "system", "developer", "assistant"]),
  content,
});
const functionCallItem = z.looseObject({
  type: z.literal("function_call"),
  id: itemId,
  call_id: callId,
  name: z.string().min(1),
  namespace: optional(z.string()),
  arguments: z.string(),
});
const functionCallOutputItem = z.looseObject({
  type: z.literal("function_call_output"),
  id: itemId,
  call_id: callId,
  output: content,
});
const customToolCallItem = z.looseObject({
  type: z.literal("custom_tool_call"),
  id: itemId,
  call_id: callId,
  name: z.string().min(1),
  namespace: optional(z.string()),
  input: z.string(),
});
const customToolCallOutputItem = z.looseObject({
  type: z.literal("custom_tool_call_output"),
  id: itemId,
  call_id: callId,
  output: content,
});
const reasoningItem = z.looseObject({
  type: z.literal("reasoning"),
  id: itemId,
  summary: optional(z.array(z.looseObject({ type: z.string(), text: optional(z.string()) }))),
  content: optional(z.array(z.looseObject({ type: z.string(), text: optional(z.string()) }))),
  encrypted_content: optional(z.string()),
});
const itemReference = z.looseObject({ type: z.literal("item_reference"), id: z.string().min(1) });

/** Items whose meaning the gateway knows, and can say in other dialects. */
export const KnownItem = z.discriminatedUnion("type", [
  messageItem,
  functionCallItem,
  functionCallOutputItem,
  customToolCallItem,
  customToolCallOutputItem,
  reasoningItem,
  itemReference,
]);
export type KnownItem = z.output<typeof KnownItem>;
export type KnownPart = z.output<typeof KnownPart>;
export type ContentPart = z.output<typeof contentPart>;

export const ITEM_TYPES: readonly string[] = [
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "reasoning",
  "item_reference",
];
const inputItem = z
  .union([KnownItem, otherThan(...ITEM_TYPES)], { error: "must be an item with a type, or a message with a role" })
  .meta({ id: "ResponseInputItem" });

const toolName = z.string().regex(/^[a-zA-Z0-9_.-]{1,128}$/, "must be 1 to 128 letters, digits, _, . or -");
const functionTool = z.looseObject({
  type: z.literal("function"),
  name: toolName,
  description: optional(z.string()),
  parameters: optional(z.record(z.string(), z.unknown())),
  strict: optional(z.boolean()).describe("Default: true, if the schema permits it."),
});
const customTool = z.looseObject({
  type: z.literal("custom"),
  name: toolName,
  description: optional(z.string()),
  format: optional(z.looseObject({ type: z.string(), syntax: optional(z.string()), definition: optional(z.string()) })),
});
/** A group of tools; a call of one of them names the group beside it. */
const namespaceTool = z.looseObject({
  type: z.literal("namespace"),
  name: toolName,
  description: optional(z.string()),
  tools: z.array(z.union([z.discriminatedUnion("type", [functionTool, customTool]), otherThan("function", "custom")])),
});
const tool = z
  .union([
    z.discriminatedUnion("type", [functionTool, customTool, namespaceTool]),
    otherThan("function", "custom", "namespace"),
  ])
  .meta({ id: "ResponseTool" });

const toolChoice = z.union([
  z.enum(["none", "auto", "required"]),
  z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("function"), name: z.string().min(1) }),
    z.looseObject({ type: z.literal("custom"), name: z.string().min(1) }),
    z.looseObject({
      type: z.literal("allowed_tools"),
      mode: z.enum(["auto", "required"]),
      tools: z.array(z.looseObject({ type: z.string(), name: optional(z.string()) })).min(1),
    }),
  ]),
  otherThan("function", "custom", "allowed_tools"),
]);

const textFormat = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text") }),
  z.looseObject({ type: z.literal("json_object") }),
  z.looseObject({
    type: z.literal("json_schema"),
    name: z.string().min(1).max(64),
    description: optional(z.string()),
    schema: z.record(z.string(), z.unknown()),
    strict: optional(z.boolean()),
  }),
]);

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/**
 * The fields of `POST /responses` that the gateway reads. Others are refused by name unless an endpoint of the same
 * dialect takes the body as it was sent.
 */
export const ResponsesRequest = z
  .looseObject({
    model: ModelName.describe("A model id, with or without its creator, `auto`, or `@workspace/router`."),
    input: optional(z.union([z.string(), z.array(inputItem)])).describe(
      "A string, or the items of the conversation. Optional only with `previous_response_id` or `prompt`.",
    ),
    instructions: optional(z.string()).describe(
      "Instructions before all items; not carried over to the next response.",
    ),
    stream: optional(z.boolean()).describe("Stream the response as server-sent events."),
    stream_options: optional(z.looseObject({ include_obfuscation: optional(z.boolean()) })),
    previous_response_id: optional(z.string().min(1).max(256)).describe("Continues a stored response."),
    store: optional(z.boolean()).describe("Store the response, so that it can be continued or retrieved."),
    background: optional(z.boolean()).describe("Respond immediately and continue in the background."),
    max_output_tokens: optional(z.int().min(1).max(10_000_000)).describe("Maximum output tokens."),
    temperature: optional(z.number().min(0).max(2)),
    top_p: optional(z.number().min(0).max(1)),
    top_logprobs: optional(z.int().min(0).max(20)),
    tools: optional(z.array(tool).max(512)),
    tool_choice: optional(toolChoice),
    parallel_tool_calls: optional(z.boolean()).describe("False: at most one tool call per response."),
    max_tool_calls: optional(z.int().min(1)),
    reasoning: optional(z.looseObject({ effort: optional(z.enum(EFFORTS)), summary: optional(z.string()) })),
    text: optional(
      z.looseObject({ format: optional(textFormat), verbosity: optional(z.enum(["low", "medium", "high"])) }),
    ),
    include: optional(z.array(z.string())),
    truncation: optional(z.enum(["auto", "disabled"])),
    metadata: optional(z.record(z.string().max(64), z.string().max(512))),
    service_tier: optional(ServiceTier),
    prompt_cache_key: optional(z.string().max(1024)),
    prompt_cache_retention: optional(z.string().max(64)),
    safety_identifier: optional(z.string().max(1024)),
    user: optional(z.string().max(1024)),
    prompt: optional(z.looseObject({})).describe("Only on endpoints that support this dialect natively."),
    conversation: z.unknown().optional().describe("Not supported: use `previous_response_id`."),
    ...wishFields,
  })
  .meta({ id: "ResponsesRequest" });
export type ResponsesRequest = z.output<typeof ResponsesRequest>;
export type ResponseTool = z.output<typeof tool>;

const usage = z
  .looseObject({
    input_tokens: z.int(),
    input_tokens_details: z.looseObject({ cached_tokens: z.int(), cache_write_tokens: z.int().optional() }),
    output_tokens: z.int(),
    output_tokens_details: z
      .looseObject({ reasoning_tokens: z.int() })
      .optional()
      .describe("Absent if the provider does not count reasoning."),
    total_tokens: z.int(),
    cost: z.number().optional().describe("The charge in the workspace's currency, from the ledger."),
    currency: z.string().optional(),
  })
  .meta({ id: "ResponseUsage" });

export const ResponseObject = z
  .looseObject({
    id: z.string(),
    object: z.literal("response"),
    created_at: z.number(),
    status: z.enum(["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]),
    model: z.string(),
    output: z.array(z.looseObject({ type: z.string(), id: z.string().optional() })),
    error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    incomplete_details: z.looseObject({ reason: z.string() }).nullable(),
    usage: usage.nullish(),
  })
  .meta({ id: "Response" });

export const ResponseEvent = z
  .looseObject({ type: z.string(), sequence_number: z.int() })
  .meta({ id: "ResponseEvent", description: "One event; the last one contains the complete response." });
