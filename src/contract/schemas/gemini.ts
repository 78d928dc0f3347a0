import { z } from "zod";
import { EMBEDDING_INPUTS_MAX } from "./embeddings.ts";
import { wishFields } from "./routing-hints.ts";

/**
 * The Gemini dialect, with its fields in camel case: the decoder accepts snake case too. An endpoint of that dialect gets the
 * body as the caller wrote it, so fields that are not listed pass this schema, and an endpoint of another dialect refuses
 * them by their name.
 */

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

const object = z.record(z.string(), z.unknown());
/** 64-bit integers may be strings in this format. */
const integer = z.union([z.int(), z.string().regex(/^-?\d{1,15}$/)], { error: "must be an integer" });

const inlineData = z.looseObject({
  mimeType: z.string().min(1),
  data: z.string().min(1),
  displayName: optional(z.string()),
});
export type InlineData = z.output<typeof inlineData>;
const fileData = z.looseObject({ fileUri: z.string().min(1), mimeType: optional(z.string()) });
const functionCall = z.looseObject({
  id: optional(z.string()),
  name: z.string().min(1).max(256),
  args: optional(object),
});
const functionResponse = z.looseObject({
  id: optional(z.string()),
  name: z.string().min(1).max(256),
  response: optional(object),
  parts: optional(z.array(z.looseObject({ inlineData: optional(inlineData) }))),
});
export type WireFunctionResponse = z.output<typeof functionResponse>;

const part = z.looseObject({
  text: optional(z.string()),
  inlineData: optional(inlineData),
  fileData: optional(fileData),
  functionCall: optional(functionCall),
  functionResponse: optional(functionResponse),
  thought: optional(z.boolean()),
  thoughtSignature: optional(z.string()),
});
export type GeminiPart = z.output<typeof part>;

const content = z.looseObject({
  role: optional(z.enum(["user", "model", "function"])).describe("Default: `user`."),
  parts: optional(z.array(part)),
});
export type Content = z.output<typeof content>;

const systemInstruction = z.looseObject({ role: optional(z.string()), parts: optional(z.array(part)) });

const functionDeclaration = z.looseObject({
  name: z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/, "must be 1 to 128 letters, digits, _, ., : or -"),
  description: optional(z.string()),
  parameters: optional(object).describe("Google's subset of OpenAPI schemas. Use this or `parametersJsonSchema`."),
  parametersJsonSchema: optional(object),
  response: optional(object),
  responseJsonSchema: optional(object),
  behavior: optional(z.string()),
});
export type FunctionDeclaration = z.output<typeof functionDeclaration>;

const tool = z.looseObject({ functionDeclarations: optional(z.array(functionDeclaration)) });
export type GeminiTool = z.output<typeof tool>;

const toolConfig = z.looseObject({
  functionCallingConfig: optional(
    z.looseObject({
      mode: optional(z.string().max(64)).describe("`AUTO`, `ANY`, `NONE` or `VALIDATED`."),
      allowedFunctionNames: optional(z.array(z.string().min(1)).max(128)),
    }),
  ),
  includeServerSideToolInvocations: optional(z.boolean()),
});
export type ToolConfig = z.output<typeof toolConfig>;

const thinkingConfig = z.looseObject({
  includeThoughts: optional(z.boolean()).describe("Default: the response has no reasoning."),
  thinkingBudget: optional(integer).describe("Tokens; 0 for none, -1 for the model's choice."),
  thinkingLevel: optional(z.string().max(64)).describe("`MINIMAL`, `LOW`, `MEDIUM` or `HIGH`."),
});
export type ThinkingConfig = z.output<typeof thinkingConfig>;

const generationConfig = z.looseObject({
  temperature: optional(z.number().min(0).max(2)),
  topP: optional(z.number().min(0).max(1)),
  topK: optional(z.number().min(0)),
  candidateCount: optional(z.int().min(1).max(1)).describe("Only one candidate is supported."),
  maxOutputTokens: optional(z.int().min(1).max(10_000_000)),
  stopSequences: optional(z.array(z.string()).max(5)),
  presencePenalty: optional(z.number().min(-2).max(2)),
  frequencyPenalty: optional(z.number().min(-2).max(2)),
  seed: optional(z.int()),
  responseLogprobs: optional(z.boolean()),
  logprobs: optional(z.int().min(0).max(20)),
  responseMimeType: optional(z.string()),
  responseSchema: optional(object).describe("Google's subset of OpenAPI schemas. Use this or `responseJsonSchema`."),
  responseJsonSchema: optional(object),
  responseModalities: optional(z.array(z.string())).describe("Only `TEXT` is supported here."),
  mediaResolution: optional(z.string()),
  thinkingConfig: optional(thinkingConfig),
});
export type GenerationConfig = z.output<typeof generationConfig>;

const safetySetting = z.looseObject({ category: z.string(), threshold: optional(z.string()) });

const requestFields = {
  model: optional(z.string()).describe("The path names the model; this is ignored."),
  contents: z.array(content).min(1, "must have at least one item"),
  systemInstruction: optional(systemInstruction),
  tools: optional(z.array(tool)),
  toolConfig: optional(toolConfig),
  safetySettings: optional(z.array(safetySetting)),
  cachedContent: optional(z.string()).describe(
    "Refused: cached content belongs to one Google account and is not available through the gateway.",
  ),
  serviceTier: optional(z.string()),
  labels: optional(z.record(z.string(), z.string())),
  generationConfig: optional(generationConfig),
  ...wishFields,
};

export const GenerateContentRequest = z.looseObject(requestFields).meta({ id: "GenerateContentRequest" });
export type GenerateContentRequest = z.output<typeof GenerateContentRequest>;

export const GeminiCountRequest = z
  .looseObject({
    contents: optional(z.array(content)),
    generateContentRequest: optional(GenerateContentRequest).describe("Instead of `contents`, a whole request."),
  })
  .meta({ id: "GeminiCountTokensRequest" });

export const GeminiTokenCount = z
  .looseObject({ totalTokens: z.int(), promptTokensDetails: optional(z.array(z.looseObject({}))) })
  .meta({ id: "GeminiTokenCount" });

const candidate = z.looseObject({
  index: optional(z.int()),
  content: optional(z.looseObject({ role: optional(z.string()), parts: optional(z.array(z.looseObject({}))) })),
  finishReason: optional(z.string()).describe("`STOP` also after function calls; absent in a stream until the end."),
});

export const GenerateContentResponse = z
  .looseObject({
    candidates: z.array(candidate).optional(),
    usageMetadata: z
      .looseObject({
        promptTokenCount: optional(z.int()),
        candidatesTokenCount: optional(z.int()),
        thoughtsTokenCount: optional(z.int()),
        totalTokenCount: optional(z.int()),
        cost: z.number().optional(),
        currency: z.string().optional(),
      })
      .optional(),
    modelVersion: z.string().optional(),
    responseId: z.string().optional(),
  })
  .meta({ id: "GenerateContentResponse" });

/** Parts other than text have no embedding here. */
const embeddingContent = z.looseObject({
  role: optional(z.string()),
  parts: z.array(z.strictObject({ text: z.string() })).min(1),
});

const embeddingFields = {
  model: optional(z.string()).describe("Must be the model of the path."),
  content: embeddingContent,
  taskType: optional(z.string().max(64)),
  title: optional(z.string().max(2048)),
  outputDimensionality: optional(z.int().min(1).max(65_536)),
};

const gatewayFields = {
  provider: wishFields.provider,
  data_classes: wishFields.data_classes,
  cache: wishFields.cache,
};

export const EmbedContentRequest = z
  .strictObject({ ...embeddingFields, ...gatewayFields })
  .meta({ id: "EmbedContentRequest" });
export type EmbedContentRequest = z.output<typeof EmbedContentRequest>;

export const BatchEmbedContentsRequest = z
  .strictObject({
    requests: z.array(z.strictObject(embeddingFields)).min(1).max(EMBEDDING_INPUTS_MAX),
    ...gatewayFields,
  })
  .meta({ id: "BatchEmbedContentsRequest" });
export type BatchEmbedContentsRequest = z.output<typeof BatchEmbedContentsRequest>;

const contentEmbedding = z.looseObject({ values: z.array(z.number()) });
export const EmbedContentResponse = z.looseObject({ embedding: contentEmbedding }).meta({ id: "EmbedContentResponse" });
export const BatchEmbedContentsResponse = z
  .looseObject({ embeddings: z.array(contentEmbedding) })
  .meta({ id: "BatchEmbedContentsResponse" });

export const GeminiModelsQuery = z.object({
  pageSize: z
    .string()
    .regex(/^\d{1,9}$/, "must be a number")
    .optional()
    .describe("Default 50, at most 1000."),
  pageToken: z.string().min(1).optional(),
});

export const GeminiModel = z
  .looseObject({
    name: z.string().describe("`models/` and the id of the model."),
    version: z.string(),
    displayName: z.string(),
    description: z.string().optional(),
    inputTokenLimit: z.int().optional(),
    outputTokenLimit: z.int().optional(),
    supportedGenerationMethods: z.array(z.string()),
    thinking: z.boolean().optional(),
  })
  .meta({ id: "GeminiModel" });

export const GeminiModelList = z
  .object({ models: z.array(GeminiModel), nextPageToken: z.string().optional() })
  .meta({ id: "GeminiModelList" });

/** Google's error shape. */
export const GeminiError = z
  .object({
    error: z.looseObject({
      code: z.int().describe("The HTTP status."),
      message: z.string(),
      status: z.string().describe("A code of google.rpc, such as `INVALID_ARGUMENT`."),
      details: z
        .array(z.looseObject({ "@type": z.string() }))
        .describe(
          "`ErrorInfo` has the gateway's error code in `metadata.code`; `BadRequest` names the field; `RetryInfo` the delay.",
        ),
    }),
  })
  .meta({ id: "GeminiError" });
