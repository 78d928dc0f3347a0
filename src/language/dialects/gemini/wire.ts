import { z } from "zod";

/** The reply fields that the gateway reads. Servers omit empty and zero fields. */
const count = z.number().nullish();
const text = z.string().nullish();

const modalityCounts = z.array(z.looseObject({ modality: text, tokenCount: count })).nullish();

export const WireUsage = z.looseObject({
  promptTokenCount: count,
  cachedContentTokenCount: count,
  candidatesTokenCount: count,
  thoughtsTokenCount: count,
  toolUsePromptTokenCount: count,
  totalTokenCount: count,
  promptTokensDetails: modalityCounts,
  toolUsePromptTokensDetails: modalityCounts,
  candidatesTokensDetails: modalityCounts,
});
export type WireUsage = z.output<typeof WireUsage>;

const partialArg = z.looseObject({
  jsonPath: z.string(),
  stringValue: text,
  numberValue: count,
  boolValue: z.boolean().nullish(),
  nullValue: z.unknown().optional(),
  willContinue: z.boolean().nullish(),
});
export type WirePartialArg = z.output<typeof partialArg>;

const functionCall = z.looseObject({
  id: text,
  name: text,
  args: z.unknown().optional(),
  partialArgs: z.array(partialArg).nullish(),
  willContinue: z.boolean().nullish(),
});
export type WireFunctionCall = z.output<typeof functionCall>;

const part = z.looseObject({
  text,
  thought: z.boolean().nullish(),
  thoughtSignature: text,
  functionCall: functionCall.nullish(),
});
export type WirePart = z.output<typeof part>;

const groundingSource = z.looseObject({ uri: text, title: text }).nullish();
const groundingChunk = z.looseObject({
  web: groundingSource,
  retrievedContext: groundingSource,
  maps: groundingSource,
});
export type WireGroundingChunk = z.output<typeof groundingChunk>;

const groundingMetadata = z.looseObject({
  groundingChunks: z.array(groundingChunk).nullish(),
  groundingSupports: z
    .array(
      z.looseObject({
        segment: z.looseObject({ partIndex: count, startIndex: count, endIndex: count }).nullish(),
        groundingChunkIndices: z.array(z.number()).nullish(),
      }),
    )
    .nullish(),
});

const recitation = z.looseObject({ uri: text, title: text, startIndex: count, endIndex: count });

const candidate = z.looseObject({
  index: count,
  content: z.looseObject({ parts: z.array(part).nullish() }).nullish(),
  finishReason: text,
  finishMessage: text,
  groundingMetadata: groundingMetadata.nullish(),
  citationMetadata: z
    .looseObject({ citationSources: z.array(recitation).nullish(), citations: z.array(recitation).nullish() })
    .nullish(),
});
export type WireCandidate = z.output<typeof candidate>;

/** A whole reply and a stream chunk have the same shape. */
export const WireAnswer = z.looseObject({
  candidates: z.array(candidate).nullish(),
  promptFeedback: z.looseObject({ blockReason: text, blockReasonMessage: text }).nullish(),
  usageMetadata: z.unknown().optional(),
  responseId: text,
});
export type WireAnswer = z.output<typeof WireAnswer>;
