import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { isTokenCount } from "../canon/tokens.ts";
import { IMPLAUSIBLE_TOKENS, type Usage } from "../canon/usage.ts";
import { decodeProblem } from "../dialects/gemini/upstream/errors.ts";
import { decodeUsage } from "../dialects/gemini/upstream/usage.ts";
import { all, type MemberRule, members } from "../dialects/reply-members.ts";
import type { ImageOrder } from "./call.ts";
import { type ImageReply, type ImageWireFormat, listIn, refusalWord, WHOLE_ONLY } from "./wire-format.ts";

const DETAILS = members(all("carried", "modality", "tokenCount"));
const REPLY: MemberRule = members({
  candidates: members({
    ...all("exempt", "index", "finishReason", "finishMessage", "tokenCount", "safetyRatings"),
    content: members({
      role: "exempt",
      parts: members(
        { inlineData: "carried", thought: "exempt", thoughtSignature: "exempt", text: "content" },
        "content",
      ),
    }),
  }),
  promptFeedback: "exempt",
  usageMetadata: members({
    ...all("carried", "promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount"),
    ...all("exempt", "totalTokenCount", "serviceTier", "trafficType", "cacheTokensDetails", "toolUsePromptTokenCount"),
    promptTokensDetails: DETAILS,
    candidatesTokensDetails: DETAILS,
  }),
  ...all("exempt", "modelVersion", "responseId", "createTime"),
});

/** Gemini's image models, through generateContent: one image per request, and perhaps text beside it. */
export const geminiImages: ImageWireFormat = {
  ...WHOLE_ONLY,
  auth: "x-goog-api-key",
  path: ({ upstreamModel }) => `/models/${encodeURIComponent(upstreamModel)}:generateContent`,
  reply: REPLY,
  encode: (order) => ({ is: "json", value: encodeOrder(order) }),
  decode: decodeReply,
  decodeProblem,
};

/** Sizes are written `16:9` or `16:9@2K` in the catalogue. */
function encodeOrder({ prompt, inputs, size }: ImageOrder): JsonObject {
  const [aspectRatio, imageSize] = size?.split("@") ?? [];
  const images = inputs.map(({ mediaType, bytes }) => ({
    inlineData: { mimeType: mediaType, data: bytes.toString("base64") },
  }));
  return {
    contents: [{ role: "user", parts: [...images, { text: prompt }] }],
    generationConfig: {
      responseModalities: ["TEXT", "IMAGE"],
      ...(aspectRatio === undefined
        ? {}
        : { imageConfig: { aspectRatio, ...(imageSize === undefined ? {} : { imageSize }) } }),
    },
  };
}

function decodeReply(body: unknown): ImageReply | undefined {
  if (!isJsonObject(body)) return undefined;
  const { candidates, promptFeedback, usageMetadata, responseId } = body;
  if (!Array.isArray(candidates) && !isJsonObject(promptFeedback)) return undefined;
  const images = listIn(candidates).flatMap((candidate) => imagesOf(candidate));
  const [first] = listIn(candidates);
  const reason = isJsonObject(promptFeedback) ? promptFeedback["blockReason"] : undefined;
  const finish = isJsonObject(first) ? first["finishReason"] : undefined;
  return {
    images,
    facts: {},
    usage: decodeImageUsage(usageMetadata),
    id: typeof responseId === "string" ? responseId : null,
    refused: images.length > 0 ? undefined : refusalWord(reason ?? (finish === "STOP" ? "NO_IMAGE" : finish)),
  };
}

/** Images of the model's thoughts are not the result. */
function imagesOf(candidate: unknown): ImageReply["images"] {
  const content = isJsonObject(candidate) ? candidate["content"] : undefined;
  return listIn(isJsonObject(content) ? content["parts"] : undefined).flatMap((part) => {
    if (!isJsonObject(part) || part["thought"] === true || !isJsonObject(part["inlineData"])) return [];
    return [{ base64: part["inlineData"]["data"], revisedPrompt: undefined }];
  });
}

function decodeImageUsage(metadata: unknown): Usage | undefined {
  const usage = decodeUsage(metadata);
  if (usage === undefined || usage === IMPLAUSIBLE_TOKENS || !isJsonObject(metadata)) return usage;
  const imageInputTokens = imageTokens(metadata["promptTokensDetails"]);
  const imageOutputTokens = imageTokens(metadata["candidatesTokensDetails"]);
  if (!isTokenCount(imageInputTokens) || imageInputTokens > usage.inputTokens) return IMPLAUSIBLE_TOKENS;
  if (!isTokenCount(imageOutputTokens) || imageOutputTokens > usage.outputTokens) return IMPLAUSIBLE_TOKENS;
  return {
    ...usage,
    ...(imageInputTokens === 0 ? {} : { imageInputTokens }),
    ...(imageOutputTokens === 0 ? {} : { imageOutputTokens }),
  };
}

function imageTokens(details: unknown): number {
  const counts = listIn(details).map((row) =>
    isJsonObject(row) && row["modality"] === "IMAGE" && typeof row["tokenCount"] === "number" ? row["tokenCount"] : 0,
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
