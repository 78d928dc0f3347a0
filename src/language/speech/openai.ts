import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { Usage } from "../canon/usage.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { type MemberRule, members, OmissionLog, variants } from "../dialects/reply-members.ts";
import { RawAudioExtractor, type SpeechEvent, type SpeechEventDecoder, SseAudioExtractor } from "./audio-extractors.ts";
import { CONTENT_TYPES } from "./call.ts";
import { hasContentType, type SpeechWireFormat, speechUsage } from "./wire-format.ts";

/** OpenAI's format: raw audio bytes, or events when usage is needed, because only events carry it. */
export const openaiSpeech: SpeechWireFormat = {
  auth: "bearer",
  path: () => "/audio/speech",
  encode: ({ input, voice, format, speed, instructions }, { upstreamModel, needsUsage }) => ({
    model: upstreamModel,
    input,
    voice,
    response_format: format,
    ...(speed === undefined ? {} : { speed }),
    ...(instructions === undefined ? {} : { instructions }),
    ...(needsUsage ? { stream_format: "sse" } : {}),
  }),
  accept: ({ format }, { needsUsage }) => (needsUsage ? "text/event-stream" : CONTENT_TYPES[format]),
  createExtractor: (headers) =>
    hasContentType(headers, "text/event-stream")
      ? new SseAudioExtractor(new SpeechEventStreamDecoder("audio"))
      : new RawAudioExtractor(),
  decodeProblem,
};

/** A whole response has no type. */
function eventRule(audio: string): MemberRule {
  const known = members({ type: "exempt", [audio]: "carried", usage: "exempt" });
  return variants("type", { "": known, "speech.audio.delta": known, "speech.audio.done": known });
}

/** OpenAI's and Mistral's speech events, which differ in the name of the audio field. */
export class SpeechEventStreamDecoder implements SpeechEventDecoder {
  readonly #field: string;
  readonly #omissions = new OmissionLog();
  readonly #rule: MemberRule;
  usage: Usage | undefined;
  readonly upstreamId = null;

  constructor(field: string) {
    this.#field = field;
    this.#rule = eventRule(field);
  }

  get omitted(): readonly string[] | undefined {
    return this.#omissions.paths;
  }

  decode(event: JsonObject): readonly SpeechEvent[] {
    const { type, usage, error } = event;
    if (type === "error" || isJsonObject(error)) return [{ is: "problem", problem: decodeProblem(event, null) }];
    this.#omissions.check(event, this.#rule);
    if (isJsonObject(usage))
      this.usage =
        speechUsage(usage["input_tokens"], usage["output_tokens"]) ??
        speechUsage(usage["prompt_tokens"], usage["completion_tokens"]);
    if (type === "speech.audio.done") return [{ is: "done" }];
    const audio = event[this.#field];
    return [typeof audio === "string" ? { is: "audio", base64: audio } : { is: "nothing" }];
  }
}
