import { z } from "zod";
import { ModelName } from "./model-name.ts";
import { wishFields } from "./routing-hints.ts";
import { ServiceTier } from "./service-tier.ts";

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

/** A mark of the messages dialect that callers also send here, on messages, parts and tools: the prefix is worth caching. */
const cacheControl = z.looseObject({ type: z.literal("ephemeral"), ttl: optional(z.enum(["5m", "1h"])) });

const textPart = z.looseObject({ type: z.literal("text"), text: z.string(), cache_control: optional(cacheControl) });
const imagePart = z.looseObject({
  type: z.literal("image_url"),
  image_url: z.looseObject({ url: z.string().min(1), detail: optional(z.string()) }),
  cache_control: optional(cacheControl),
});
const audioPart = z.looseObject({
  type: z.literal("input_audio"),
  input_audio: z.looseObject({ data: z.string().min(1), format: z.string().min(1) }),
});
const filePart = z.looseObject({
  type: z.literal("file"),
  file: z.looseObject({
    file_data: optional(z.string()),
    file_id: optional(z.string()),
    filename: optional(z.string()),
  }),
  cache_control: optional(cacheControl),
});
const refusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });

const textContent = z.union([z.string(), z.array(textPart).min(1)], {
  error: "must be a string or a non-empty array of text parts",
});
const userContent = z.union([
  z.string(),
  z.array(z.discriminatedUnion("type", [textPart, imagePart, audioPart, filePart])).min(1),
]);
const assistantContent = z.union([z.string(), z.array(z.discriminatedUnion("type", [textPart, refusalPart]))]);

/** A block of reasoning with its provider's seal. The form is shared with other gateways, so clients know it. */
export const ReasoningDetailWire = z.looseObject({
  type: z.enum(["reasoning.text", "reasoning.summary", "reasoning.encrypted"]),
  text: optional(z.string()),
  summary: optional(z.string()),
  data: optional(z.string()),
  signature: optional(z.string()),
  format: optional(z.string()),
  id: optional(z.string()),
});
export type ReasoningDetailWire = z.output<typeof ReasoningDetailWire>;

const toolCall = z.looseObject({
  id: z.string(),
  type: z.literal("function"),
  function: z.looseObject({ name: z.string().min(1), arguments: z.string() }),
  extra_content: optional(
    z.looseObject({ google: optional(z.looseObject({ thought_signature: optional(z.string()) })) }),
  ),
});

const message = z.discriminatedUnion("role", [
  z.looseObject({ role: z.literal("system"), content: textContent, cache_control: optional(cacheControl) }),
  z.looseObject({ role: z.literal("developer"), content: textContent, cache_control: optional(cacheControl) }),
  z.looseObject({ role: z.literal("user"), content: userContent, cache_control: optional(cacheControl) }),
  z.looseObject({
    role: z.literal("assistant"),
    cache_control: optional(cacheControl),
    content: optional(assistantContent),
    refusal: optional(z.string()),
    reasoning_content: optional(z.string()),
    reasoning_details: optional(z.array(ReasoningDetailWire)).describe(
      "Return it unchanged from the earlier response.",
    ),
    tool_calls: optional(z.array(toolCall)),
  }),
  z.looseObject({
    role: z.literal("tool"),
    tool_call_id: z.string(),
    content: textContent,
    cache_control: optional(cacheControl),
  }),
]);

const tool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: z.string().regex(/^[a-zA-Z0-9_.-]{1,64}$/, "must be 1 to 64 letters, digits, _, . or -"),
    description: optional(z.string()),
    parameters: optional(z.record(z.string(), z.unknown())),
    strict: optional(z.boolean()),
  }),
  cache_control: optional(cacheControl),
});

const toolChoice = z.union([
  z.enum(["none", "auto", "required"]),
  z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: z.string().min(1) }) }),
    z.looseObject({ type: z.literal("allowed_tools"), allowed_tools: z.looseObject({}) }),
  ]),
]);

const responseFormat = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text") }),
  z.looseObject({ type: z.literal("json_object") }),
  z.looseObject({
    type: z.literal("json_schema"),
    json_schema: z.looseObject({
      name: z.string().min(1),
      description: optional(z.string()),
      schema: optional(z.record(z.string(), z.unknown())),
      strict: optional(z.boolean()),
    }),
  }),
]);

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
const effort = z.enum(EFFORTS);
const tokenCount = z.int().min(1).max(10_000_000);

/** 64 bits: more than a number holds here, and sent on as it was written. */
const seed = z
  .number()
  .min(-(2 ** 63))
  .max(2 ** 63)
  .refine(Number.isInteger, "must be a whole number")
  .meta({ type: "integer" });

/** Known, so that the refusal can state that no provider accepts it, whatever its value. */
const never = z.unknown().optional().describe("Not supported by any model.");

/** Ignored where the provider's dialect has no such field; a provider that receives it requires a string. */
const label = z.unknown().meta({ type: "string" });

/** Every field of `POST /chat/completions`. A field that is not here is refused by name. */
export const ChatRequest = z
  .strictObject({
    model: ModelName.describe("A model id, with or without its creator, `auto`, or `@workspace/router`."),
    messages: z.array(message).min(1).describe("The conversation so far."),
    stream: optional(z.boolean()).describe("Stream the response as server-sent events."),
    stream_options: optional(
      z.strictObject({ include_usage: optional(z.boolean()), include_obfuscation: optional(z.boolean()) }),
    ),
    n: optional(z.literal(1, "only 1 is accepted")).describe("Only 1."),
    max_tokens: optional(tokenCount).describe("Maximum output tokens."),
    max_completion_tokens: optional(tokenCount).describe("Same as `max_tokens`."),
    temperature: optional(z.number().min(0).max(2)),
    top_p: optional(z.number().min(0).max(1)),
    top_k: optional(z.int().min(0)),
    min_p: never,
    repetition_penalty: never,
    presence_penalty: optional(z.number().min(-2).max(2)),
    frequency_penalty: optional(z.number().min(-2).max(2)),
    seed: optional(seed),
    stop: optional(z.union([z.string(), z.array(z.string()).max(16)])),
    logprobs: optional(z.boolean()),
    top_logprobs: optional(z.int().min(0).max(20)),
    logit_bias: optional(z.record(z.string(), z.number().min(-100).max(100))),
    response_format: optional(responseFormat),
    tools: optional(z.array(tool).max(512)),
    tool_choice: optional(toolChoice),
    allowed_tools: optional(z.array(z.string().min(1)).min(1)).describe("Names of the tools that the model may call."),
    parallel_tool_calls: optional(z.boolean()),
    reasoning_effort: optional(effort),
    reasoning: optional(
      z.union([
        effort,
        z.strictObject({
          effort: optional(effort),
          enabled: optional(z.boolean()),
          max_tokens: optional(tokenCount),
          exclude: optional(z.boolean()).describe("Must be false."),
        }),
      ]),
    ).describe("Alias of `reasoning_effort`."),
    thinking: optional(
      z.union([
        effort,
        z.strictObject({ type: z.enum(["enabled", "disabled", "adaptive"]), budget_tokens: optional(tokenCount) }),
      ]),
    ).describe("Alias of `reasoning_effort`."),
    verbosity: optional(z.enum(["low", "medium", "high"])),
    prediction: optional(z.looseObject({ type: z.literal("content") })),
    prompt_cache_key: optional(z.string().max(1024)),
    safety_identifier: optional(label),
    service_tier: optional(ServiceTier),
    user: optional(label),
    store: never,
    metadata: never,
    modalities: never,
    include_reasoning: never,
    chat_template_kwargs: never,
    ...wishFields,
  })
  .meta({ id: "ChatRequest" });
export type ChatRequest = z.output<typeof ChatRequest>;
export type ChatMessage = z.output<typeof message>;
export type ChatTool = z.output<typeof tool>;

const usage = z
  .looseObject({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    total_tokens: z.int(),
    prompt_tokens_details: z.looseObject({ cached_tokens: z.int().optional() }).optional(),
    completion_tokens_details: z.looseObject({ reasoning_tokens: z.int().optional() }).optional(),
    cost: z
      .number()
      .optional()
      .describe(
        "The charge in the workspace's currency, from the ledger. Absent if the workspace's own key served the request.",
      ),
    currency: z.string().optional(),
  })
  .meta({ id: "ChatUsage" });

export const ChatCompletion = z
  .looseObject({
    id: z.string(),
    object: z.literal("chat.completion"),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.looseObject({
        index: z.int(),
        message: z.looseObject({ role: z.literal("assistant"), content: z.string().nullish() }),
        finish_reason: z
          .enum(["stop", "length", "tool_calls", "content_filter", "function_call"])
          .describe("`function_call` only from providers that still send it."),
      }),
    ),
    usage,
  })
  .meta({ id: "ChatCompletion" });

export const ChatChunk = z
  .looseObject({
    id: z.string(),
    object: z.literal("chat.completion.chunk"),
    created: z.int(),
    model: z.string(),
    choices: z.array(z.looseObject({ index: z.int(), delta: z.looseObject({}), finish_reason: z.string().nullable() })),
    usage: usage.nullish(),
  })
  .meta({ id: "ChatChunk" });
