import { z } from "zod";
import { ModelName } from "./model-name.ts";
import { wishFields } from "./routing-hints.ts";

/**
 * The messages dialect. The same body goes to endpoints of that dialect as the caller wrote it, so what the gateway does
 * not know is no error here: fields and kinds of blocks that are not listed pass this schema, and an endpoint of another
 * dialect refuses them by their name.
 */

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

const cacheControl = z.looseObject({ type: z.string(), ttl: optional(z.string()) });
export type CacheControl = z.output<typeof cacheControl>;

/** Whatever has a type that is not one of these: the dialect grows, and callers need not wait for a new gateway version. */
const otherThan = (known: readonly string[]) =>
  z.looseObject({
    // Told at once: a known kind of the wrong shape is judged by its own schema, not by this one.
    type: z
      .string()
      .refine((type) => !known.includes(type), { error: "has an invalid format", abort: true })
      .meta({ not: { enum: known } }),
  });

const textBlock = z.looseObject({ type: z.literal("text"), text: z.string(), cache_control: optional(cacheControl) });

const base64Source = z.looseObject({
  type: z.literal("base64"),
  media_type: z.string().min(1),
  data: z.string().min(1),
});
const urlSource = z.looseObject({ type: z.literal("url"), url: z.string().min(1) });
const fileSource = z.looseObject({ type: z.literal("file"), file_id: z.string().min(1) });
const textSource = z.looseObject({ type: z.literal("text"), data: z.string() });

const IMAGE_SOURCES = ["base64", "url", "file"];
const imageSource = z.union([
  z.discriminatedUnion("type", [base64Source, urlSource, fileSource]),
  otherThan(IMAGE_SOURCES),
]);
const imageBlock = z.looseObject({
  type: z.literal("image"),
  source: imageSource,
  cache_control: optional(cacheControl),
});

/** What a document that is given in pieces, and the result of a tool, consist of. */
const INNER_BLOCKS = ["text", "image"];
const innerBlock = z.union([z.discriminatedUnion("type", [textBlock, imageBlock]), otherThan(INNER_BLOCKS)]);
export type InnerBlock = z.output<typeof innerBlock>;
const innerContent = z.union([z.string(), z.array(innerBlock)], {
  error: "must be a string or an array of content blocks",
});
export type InnerContent = z.output<typeof innerContent>;

const contentSource = z.looseObject({ type: z.literal("content"), content: innerContent });
const DOCUMENT_SOURCES = ["base64", "url", "file", "text", "content"];
const documentSource = z.union([
  z.discriminatedUnion("type", [base64Source, urlSource, fileSource, textSource, contentSource]),
  otherThan(DOCUMENT_SOURCES),
]);

export const documentBlock = z.looseObject({
  type: z.literal("document"),
  source: documentSource,
  title: optional(z.string()),
  context: optional(z.string()),
  citations: optional(z.looseObject({ enabled: optional(z.boolean()) })),
  cache_control: optional(cacheControl),
});
const toolUseBlock = z.looseObject({
  type: z.literal("tool_use"),
  id: z.string().min(1),
  name: z.string().min(1),
  // Arguments that the model wrote malformed are text.
  input: z.union([z.record(z.string(), z.unknown()), z.string(), z.array(z.unknown()), z.number(), z.boolean()]),
  cache_control: optional(cacheControl),
});
const toolResultBlock = z.looseObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string().min(1),
  content: optional(innerContent),
  is_error: optional(z.boolean()),
  cache_control: optional(cacheControl),
});
const thinkingBlock = z.looseObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: optional(z.string()),
});
const redactedBlock = z.looseObject({ type: z.literal("redacted_thinking"), data: z.string().min(1) });

const knownBlock = z.discriminatedUnion("type", [
  textBlock,
  imageBlock,
  documentBlock,
  toolUseBlock,
  toolResultBlock,
  thinkingBlock,
  redactedBlock,
]);
export type KnownBlock = z.output<typeof knownBlock>;
const KNOWN_BLOCKS = knownBlock.options.map(({ shape }) => shape.type.value);
const block = z.union([knownBlock, otherThan(KNOWN_BLOCKS)]);
export type MessageBlock = z.output<typeof block>;

const message = z.looseObject({
  role: z.enum(["user", "assistant", "system"]),
  content: z.union([z.string(), z.array(block)], { error: "must be a string or an array of content blocks" }),
});
export type InputMessage = z.output<typeof message>;

const systemBlock = z.union([textBlock, otherThan(["text"])]);

const customTool = z.looseObject({
  type: optional(z.literal("custom")),
  name: z.string().regex(/^[a-zA-Z0-9_.-]{1,128}$/, "must be 1 to 128 letters, digits, _, . or -"),
  description: optional(z.string()),
  input_schema: z.record(z.string(), z.unknown()),
  strict: optional(z.boolean()),
  cache_control: optional(cacheControl),
});
export type CustomTool = z.output<typeof customTool>;
const tool = z.union([customTool, otherThan(["custom"])]);
export type MessageTool = z.output<typeof tool>;

/** `POST /messages`. */
export const MessagesRequest = z
  .looseObject({
    model: ModelName.describe("A model id, with or without its creator, `auto`, or `@workspace/router`."),
    messages: z.array(message).min(1).describe("The conversation so far."),
    system: optional(
      z.union([z.string(), z.array(systemBlock)], { error: "must be a string or an array of text blocks" }),
    ).describe("The system prompt."),
    tools: optional(z.array(tool).max(512)),
    tool_choice: optional(
      z.looseObject({
        type: z.string().describe("`auto`, `any`, `tool` or `none`."),
        name: optional(z.string().min(1)),
        disable_parallel_tool_use: optional(z.boolean()),
      }),
    ),
    thinking: optional(
      z.looseObject({
        type: z.string().describe("`enabled`, `adaptive`, `between_tools` or `disabled`."),
        budget_tokens: optional(z.int().min(1).max(10_000_000)),
      }),
    ),
    output_config: optional(
      z.looseObject({
        effort: optional(z.string()).describe("`low`, `medium`, `high`, `xhigh` or `max`."),
        format: optional(
          z.looseObject({
            type: z.string().describe("`json_schema`."),
            schema: optional(z.record(z.string(), z.unknown())),
          }),
        ),
      }),
    ),
    max_tokens: z.int().min(0).max(10_000_000).describe("Maximum output tokens, including thinking."),
    stream: optional(z.boolean()).describe("Stream the response as server-sent events."),
    temperature: optional(z.number().min(0).max(1)),
    top_p: optional(z.number().min(0).max(1)),
    top_k: optional(z.int().min(0)),
    stop_sequences: optional(z.array(z.string().min(1)).max(8191)),
    metadata: optional(z.looseObject({})).describe("Advisory: sent only to endpoints of this dialect."),
    ...wishFields,
  })
  .meta({ id: "MessagesRequest" });
export type MessagesRequest = z.output<typeof MessagesRequest>;

/** The same without the limit of the answer, which means nothing where there will be none. */
export const CountTokensRequest = MessagesRequest.extend({
  max_tokens: optional(MessagesRequest.shape.max_tokens),
}).meta({ id: "CountTokensRequest" });
export type CountTokensRequest = z.output<typeof CountTokensRequest>;

const count = z.int().nullish();

const usage = z
  .looseObject({
    input_tokens: z.int().describe("Without tokens read from or written to a cache."),
    cache_creation_input_tokens: count,
    cache_read_input_tokens: count,
    output_tokens: z.int(),
    cost: z.number().optional().describe("The charge in the workspace's currency, from the ledger."),
    currency: z.string().optional(),
  })
  .meta({ id: "MessageUsage" });

export const Message = z
  .looseObject({
    id: z.string(),
    type: z.literal("message"),
    role: z.literal("assistant"),
    model: z.string(),
    content: z.array(z.looseObject({ type: z.string() })),
    stop_reason: z.string().nullish(),
    stop_sequence: z.string().nullish(),
    usage,
  })
  .meta({ id: "Message" });

export const TokenCount = z
  .looseObject({ input_tokens: z.int().describe("Input tokens, including the system prompt and tools.") })
  .meta({ id: "TokenCount" });

export const MessageEvent = z
  .looseObject({
    type: z
      .string()
      .describe(
        "`message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop`, `ping` or `error`.",
      ),
  })
  .meta({ id: "MessageEvent" });

const KNOWN: ReadonlySet<string> = new Set(KNOWN_BLOCKS);

export function isKnownBlock(value: MessageBlock): value is KnownBlock {
  return KNOWN.has(value.type);
}
