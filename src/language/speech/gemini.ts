import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { IMPLAUSIBLE_TOKENS, latestUsage, type Usage } from "../canon/usage.ts";
import { decodeProblem } from "../dialects/gemini/upstream/errors.ts";
import { decodeUsage } from "../dialects/gemini/upstream/usage.ts";
import { all, members, OmissionLog } from "../dialects/reply-members.ts";
import {
  JsonAudioExtractor,
  type SpeechEvent,
  type SpeechEventDecoder,
  SseAudioExtractor,
} from "./audio-extractors.ts";
import { hasContentType, type SpeechWireFormat } from "./wire-format.ts";

/** Gemini's generateContent with audio output: raw samples whose rate is in the media type. */
export const geminiSpeech: SpeechWireFormat = {
  auth: "x-goog-api-key",
  path: ({ upstreamModel, canStream }) =>
    `/models/${encodeURIComponent(upstreamModel)}:${canStream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  encode: ({ input, voice }) => ({
    contents: [{ role: "user", parts: [{ text: input }] }],
    generationConfig: {
      responseModalities: ["AUDIO"],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } },
    },
  }),
  accept: (_call, { canStream }) => (canStream ? "text/event-stream" : "application/json"),
  createExtractor(headers) {
    const decoder = new GeminiSpeechDecoder();
    if (hasContentType(headers, "text/event-stream")) return new SseAudioExtractor(decoder);
    return new JsonAudioExtractor("data", decoder, lastMediaTypeIn);
  },
  decodeProblem,
};

/** The audio belongs to the last media type that precedes it. */
function lastMediaTypeIn(rest: string): string | undefined {
  return [...rest.matchAll(/"mime_?[tT]ype"\s*:\s*"([^"\\]{1,200})"/g)].at(-1)?.[1];
}

/** Finish reasons after which the audio is complete. */
const COMPLETE_FINISH_REASONS: ReadonlySet<string> = new Set(["STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED"]);

/** A text beside the audio has no place in it. */
const REPLY = members({
  ...all("exempt", "usageMetadata", "modelVersion", "responseId", "createTime", "promptFeedback"),
  candidates: members({
    ...all("exempt", "index", "finishReason", "finishMessage", "safetyRatings", "tokenCount", "avgLogprobs"),
    content: members({ role: "exempt", parts: members(all("carried", "inlineData", "inline_data")) }),
  }),
});

/** Decodes both complete responses and stream chunks: they have the same shape. */
class GeminiSpeechDecoder implements SpeechEventDecoder {
  readonly #omissions = new OmissionLog();
  usage: Usage | undefined;
  upstreamId: string | null = null;

  get omitted(): readonly string[] | undefined {
    return this.#omissions.paths;
  }

  decode(event: JsonObject): readonly SpeechEvent[] {
    if (isJsonObject(event["error"])) return [{ is: "problem", problem: decodeProblem(event, null) }];
    this.#omissions.check(event, REPLY);
    this.usage = latestUsage(this.usage, outputAsAudio(decodeUsage(event["usageMetadata"])));
    if (typeof event["responseId"] === "string") this.upstreamId = event["responseId"];
    const blocked = isJsonObject(event["promptFeedback"]) ? event["promptFeedback"]["blockReason"] : undefined;
    if (typeof blocked === "string") return [garbageEvent(`the provider blocked the text (${blocked})`)];
    const [candidate] = Array.isArray(event["candidates"]) ? event["candidates"].filter(isJsonObject) : [];
    if (candidate === undefined) return [];
    const events: SpeechEvent[] = partsOf(candidate).flatMap(audioEvents);
    const reason = candidate["finishReason"];
    if (typeof reason !== "string") return events;
    return [
      ...events,
      COMPLETE_FINISH_REASONS.has(reason)
        ? { is: "done" }
        : garbageEvent(`the provider stopped generating speech (${reason})`),
    ];
  }
}

/** Garbage instead of a problem: another endpoint may accept the same text. */
function garbageEvent(why: string): SpeechEvent {
  return { is: "malformed", why };
}

function partsOf({ content }: JsonObject): readonly JsonObject[] {
  return isJsonObject(content) && Array.isArray(content["parts"]) ? content["parts"].filter(isJsonObject) : [];
}

function audioEvents(part: JsonObject): readonly SpeechEvent[] {
  const inline = part["inlineData"] ?? part["inline_data"];
  if (!isJsonObject(inline) || typeof inline["data"] !== "string") return [];
  const mediaType = inline["mimeType"] ?? inline["mime_type"];
  return [{ is: "audio", base64: inline["data"], mediaType: typeof mediaType === "string" ? mediaType : undefined }];
}

/** Counts all output as audio: servers do not always report the modality, and a speech model produces nothing else. */
function outputAsAudio(usage: Usage | undefined): Usage | undefined {
  if (usage === undefined || usage === IMPLAUSIBLE_TOKENS) return usage;
  return { ...usage, audioOutputTokens: usage.outputTokens - usage.reasoningTokens };
}
