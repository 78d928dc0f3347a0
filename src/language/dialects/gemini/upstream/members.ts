import { all, type MemberRule, members, placed, variants, words } from "../../reply-members.ts";
import { FINISH_REASONS } from "./finish-reasons.ts";

const PART = members(
  {
    ...all("carried", "text", "thoughtSignature"),
    // Decides between text and reasoning.
    thought: "exempt",
    functionCall: members({
      ...all("carried", "id", "name", "args", "partialArgs"),
      willContinue: "exempt",
    }),
    ...all("omitted", "partMetadata", "videoMetadata", "mediaResolution"),
  },
  "content",
);

const SOURCE = members(all("carried", "uri", "title"));

const GROUNDING = members({
  groundingChunks: members({ web: SOURCE, retrievedContext: SOURCE, maps: SOURCE }),
  groundingSupports: members({
    segment: members({
      // The text repeats the reply.
      ...all("exempt", "partIndex", "text"),
      ...all(placed("annotation_span"), "startIndex", "endIndex"),
    }),
    groundingChunkIndices: "exempt",
  }),
});

const RECITATION = members({
  ...all("carried", "uri", "title"),
  ...all(placed("annotation_span"), "startIndex", "endIndex"),
});

const CANDIDATE = members({
  index: "exempt",
  content: members({ role: "exempt", parts: PART }),
  finishReason: words(FINISH_REASONS),
  // Carried as a refusal; otherwise the reader reports it.
  finishMessage: "exempt",
  tokenCount: "exempt",
  groundingMetadata: GROUNDING,
  citationMetadata: members({ citationSources: RECITATION, citations: RECITATION }),
});

const MODALITIES = variants("modality", {
  TEXT: members(all("exempt", "modality", "tokenCount")),
  AUDIO: members({ modality: "exempt", tokenCount: placed("audio_tokens") }),
});

const USAGE = members({
  ...all("carried", "promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"),
  ...all("carried", "cachedContentTokenCount", "toolUsePromptTokenCount"),
  totalTokenCount: "exempt",
  promptTokensDetails: MODALITIES,
  toolUsePromptTokensDetails: MODALITIES,
  candidatesTokensDetails: MODALITIES,
  cacheTokensDetails: variants("modality", { TEXT: members(all("exempt", "modality", "tokenCount")) }),
  trafficType: words(["ON_DEMAND"]),
  serviceTier: words(["standard"]),
});

/** A whole reply and a stream chunk have the same shape. */
export const REPLY: MemberRule = members({
  candidates: CANDIDATE,
  promptFeedback: members(all("carried", "blockReason", "blockReasonMessage")),
  usageMetadata: USAGE,
  ...all("exempt", "modelVersion", "responseId", "createTime"),
});
