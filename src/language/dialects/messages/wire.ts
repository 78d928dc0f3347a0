import { z } from "zod";

/** The reply fields that the gateway reads; others are ignored. */
const count = z.number().nullish();
const word = z.string().nullish();

export const WireUsage = z.looseObject({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  cache_creation: z.looseObject({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count }).nullish(),
  output_tokens_details: z.looseObject({ thinking_tokens: count }).nullish(),
  iterations: z.unknown().optional(),
});
export type WireUsage = z.output<typeof WireUsage>;

/** A citation of a web page, a search result or a document of the request. */
export const WireCitation = z.looseObject({
  url: word,
  source: word,
  title: word,
  document_title: word,
  cited_text: word,
});
export type WireCitation = z.output<typeof WireCitation>;

/** A block as it opens in a stream, or complete in a whole reply. */
export const WireBlock = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: word, citations: z.array(WireCitation).nullish() }),
  z.looseObject({ type: z.literal("thinking"), thinking: word, signature: word }),
  z.looseObject({ type: z.literal("redacted_thinking"), data: z.string() }),
  z.looseObject({
    type: z.literal("tool_use"),
    id: z.string(),
    name: z.string(),
    input: z.unknown().optional(),
  }),
]);
export type WireBlock = z.output<typeof WireBlock>;

export const WireStop = z.looseObject({
  stop_reason: word,
  stop_details: z.looseObject({ explanation: word }).nullish(),
});

export const WireMessage = z.looseObject({
  id: word,
  content: z.array(z.looseObject({ type: z.string() })),
  usage: z.unknown().optional(),
});

export const WireStart = z.looseObject({ id: word, usage: z.unknown().optional() });
