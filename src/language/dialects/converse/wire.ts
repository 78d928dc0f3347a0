import { z } from "zod";

/** The reply fields that the gateway reads; others are ignored. */
const count = z.number().nullish();

export const WireUsage = z.object({
  inputTokens: count,
  outputTokens: count,
  cacheReadInputTokens: count,
  cacheWriteInputTokens: count,
  /** Older names of the same counts. */
  cacheReadInputTokenCount: count,
  cacheWriteInputTokenCount: count,
  /** Cache writes by lifetime. */
  cacheDetails: z.array(z.object({ ttl: z.string().nullish(), inputTokens: count })).nullish(),
});
export type WireUsage = z.output<typeof WireUsage>;

const citation = z.object({
  title: z.string().nullish(),
  sourceContent: z.array(z.object({ text: z.string().nullish() })).nullish(),
  location: z.object({ web: z.object({ url: z.string().nullish() }).nullish() }).nullish(),
});
export type WireCitation = z.output<typeof citation>;

/** A union: exactly one key is set. */
const block = z.object({
  text: z.string().nullish(),
  toolUse: z.object({ toolUseId: z.string(), name: z.string(), input: z.unknown().optional() }).nullish(),
  reasoningContent: z
    .object({
      reasoningText: z.object({ text: z.string().nullish(), signature: z.string().nullish() }).nullish(),
      redactedContent: z.string().nullish(),
    })
    .nullish(),
  citationsContent: z
    .object({
      content: z.array(z.object({ text: z.string().nullish() })).nullish(),
      citations: z.array(citation).nullish(),
    })
    .nullish(),
});
export type WireBlock = z.output<typeof block>;

export const WireReply = z.object({
  output: z.object({ message: z.object({ content: z.array(block).nullish() }) }),
  stopReason: z.string(),
  usage: z.unknown().optional(),
});

const index = z.int().min(0);

export const BlockStart = z.object({
  contentBlockIndex: index,
  start: z.object({ toolUse: z.object({ toolUseId: z.string(), name: z.string() }).nullish() }).nullish(),
});

export const BlockDelta = z.object({
  contentBlockIndex: index,
  delta: z.object({
    text: z.string().nullish(),
    toolUse: z.object({ input: z.string().nullish() }).nullish(),
    reasoningContent: z
      .object({
        text: z.string().nullish(),
        signature: z.string().nullish(),
        redactedContent: z.string().nullish(),
      })
      .nullish(),
    citation: citation.nullish(),
  }),
});
export type WireDelta = z.output<typeof BlockDelta>["delta"];

export const BlockStop = z.object({ contentBlockIndex: index });
export const MessageStop = z.object({ stopReason: z.string() });
export const Metadata = z.object({ usage: z.unknown().optional() });
