import { isJsonObject, type JsonObject, parseJsonObject } from "../kit/json.ts";
import type { AudioFormat } from "../language/audio/meter.ts";
import { CONTENT_TYPES } from "../language/speech/call.ts";
import { speechSeconds, synthesizeSpeech } from "./audio/speech.ts";
import { chatFormat } from "./chat.ts";
import { isSpeechModel, speechFaultFor } from "./fault-injection.ts";
import { geminiFormat } from "./gemini.ts";
import { countTokens } from "./tokens.ts";
import {
  type ErrorResponse,
  errorResponse,
  type SimulatedProvider,
  type SimulatedResponse,
  type WireFormat,
} from "./wire-format.ts";

/** The provider with Mistral's format. */
const MISTRAL_PROVIDER = "sandbox-fr";
const TOKENS_PER_SECOND = 25;
const AUDIO_CHUNKS = 16;
const AUDIO_CHUNK_MIN_BYTES = 64;
const WEB_PAGE = "<!doctype html><html><body><h1>It works!</h1><p>A page instead of audio.</p></body></html>\n";

type SpeechParameters = {
  readonly model: string;
  readonly text: string;
  readonly instructions: string;
  readonly format: AudioFormat;
  readonly speed: number;
};

type SynthesizedSpeech = { readonly chunks: readonly Buffer[]; readonly seconds: number; readonly usage: JsonObject };

/** OpenAI's speech format, or Mistral's at one of the providers, on the same path. */
export const speechFormat: WireFormat = {
  ...chatFormat,
  matches: (path) => path === "/v1/audio/speech",
  parse({ body }) {
    const parsed = parseJsonObject(body);
    if ("problem" in parsed) return errorResponse(400, "The body is not JSON.");
    const { model } = parsed.value;
    if (typeof model !== "string") return errorResponse(400, "you must provide a model parameter", { param: "model" });
    return {
      is: "accepted",
      model,
      respond: (provider) =>
        (provider.slug === MISTRAL_PROVIDER ? respondAsMistral : respondAsOpenai)(parsed.value, model, provider),
    };
  },
};

/** Gemini's speech: raw samples as inline data. */
export const geminiSpeechFormat: WireFormat = {
  ...geminiFormat,
  matches: (path) => geminiFormat.matches(path) && isSpeechModel(modelInPath(path)),
  parse({ path, body }) {
    const parsed = parseJsonObject(body);
    if ("problem" in parsed) return errorResponse(400, "The body is not JSON.");
    const model = modelInPath(path);
    const form = path.endsWith(":streamGenerateContent") ? "events" : "whole";
    return { is: "accepted", model, respond: (provider) => respondAsGemini(parsed.value, model, form, provider) };
  },
};

function modelInPath(path: string): string {
  return decodeURIComponent(/\/models\/([^/:]+):/.exec(path)?.[1] ?? "");
}

const OPENAI_FIELDS = ["model", "input", "voice", "response_format", "speed", "instructions", "stream_format"];
const FORMATS: readonly AudioFormat[] = ["mp3", "opus", "aac", "flac", "wav", "pcm"];

function respondAsOpenai(
  body: JsonObject,
  model: string,
  provider: SimulatedProvider,
): SimulatedResponse | ErrorResponse {
  const parameters = parseSpeechParameters(body, model, { known: OPENAI_FIELDS, voice: "voice", formats: FORMATS });
  if ("is" in parameters) return parameters;
  const fault = faultResponse(parameters, provider);
  if (fault !== undefined) return fault;
  const { chunks, usage } = synthesize(parameters);
  if (body["stream_format"] !== "sse")
    return streamResponse(CONTENT_TYPES[parameters.format], chunks, parameters, provider);
  const events = chunks.map((chunkBytes) =>
    sseEvent({ type: "speech.audio.delta", audio: chunkBytes.toString("base64") }),
  );
  return streamResponse(
    "text/event-stream",
    [...events, sseEvent({ type: "speech.audio.done", usage })],
    parameters,
    provider,
  );
}

const MISTRAL_FIELDS = ["model", "input", "voice_id", "response_format", "stream"];

function respondAsMistral(
  body: JsonObject,
  model: string,
  provider: SimulatedProvider,
): SimulatedResponse | ErrorResponse {
  const formats = FORMATS.filter((format) => format !== "aac");
  const parameters = parseSpeechParameters(body, model, { known: MISTRAL_FIELDS, voice: "voice_id", formats });
  if ("is" in parameters) return parameters;
  const fault = faultResponse(parameters, provider);
  if (fault !== undefined) return fault;
  const { chunks, usage } = synthesize(parameters);
  if (body["stream"] !== true) {
    const whole = JSON.stringify({ audio_data: Buffer.concat(chunks).toString("base64") });
    return { is: "body", contentType: "application/json", body: whole, tokens: chunks.length };
  }
  const events = chunks.map((chunkBytes) =>
    sseEvent({ type: "speech.audio.delta", audio_data: chunkBytes.toString("base64") }),
  );
  return streamResponse(
    "text/event-stream",
    [...events, sseEvent({ type: "speech.audio.done", usage })],
    parameters,
    provider,
  );
}

function respondAsGemini(
  body: JsonObject,
  model: string,
  form: "whole" | "events",
  provider: SimulatedProvider,
): SimulatedResponse | ErrorResponse {
  const config = objectField(body, "generationConfig");
  const modalities = config["responseModalities"];
  if (!Array.isArray(modalities) || modalities[0] !== "AUDIO")
    return errorResponse(400, "The model only supports the AUDIO response modality.");
  const voice = objectField(objectField(objectField(config, "speechConfig"), "voiceConfig"), "prebuiltVoiceConfig");
  if (typeof voice["voiceName"] !== "string") return errorResponse(400, "A voice must be configured.");
  const parameters: SpeechParameters = { model, text: contentsText(body), instructions: "", format: "pcm", speed: 1 };
  const fault = faultResponse(parameters, provider);
  if (fault !== undefined) return fault;
  const { chunks, usage } = synthesize(parameters);
  const responseId = provider.nextId("sim");
  const chunk = (bytes: Buffer, last: JsonObject) => ({
    candidates: [{ content: { role: "model", parts: [inlineDataPart(bytes)] }, index: 0, ...last }],
    modelVersion: model,
    responseId,
  });
  const usageMetadata = {
    promptTokenCount: usage["input_tokens"],
    candidatesTokenCount: usage["output_tokens"],
    totalTokenCount: usage["total_tokens"],
    candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: usage["output_tokens"] }],
  };
  const end = { finishReason: "STOP" };
  if (form === "whole") {
    const whole = { ...chunk(Buffer.concat(chunks), end), usageMetadata };
    return {
      is: "body",
      contentType: "application/json",
      body: JSON.stringify(whole, undefined, 2),
      tokens: AUDIO_CHUNKS,
    };
  }
  const events = chunks.map((chunkBytes, at) =>
    sseEvent(at === chunks.length - 1 ? { ...chunk(chunkBytes, end), usageMetadata } : chunk(chunkBytes, {})),
  );
  return streamResponse("text/event-stream", events, parameters, provider);
}

function inlineDataPart(bytes: Buffer): JsonObject {
  return { inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: bytes.toString("base64") } };
}

function objectField(value: JsonObject, name: string): JsonObject {
  const inner = value[name];
  return isJsonObject(inner) ? inner : {};
}

function contentsText(body: JsonObject): string {
  const [content] = Array.isArray(body["contents"]) ? body["contents"].filter(isJsonObject) : [];
  const parts = content !== undefined && Array.isArray(content["parts"]) ? content["parts"].filter(isJsonObject) : [];
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("");
}

type SpeechFieldNames = {
  readonly known: readonly string[];
  readonly voice: string;
  readonly formats: readonly AudioFormat[];
};

function parseSpeechParameters(
  body: JsonObject,
  model: string,
  { known, voice, formats }: SpeechFieldNames,
): SpeechParameters | ErrorResponse {
  const unknownField = Object.keys(body).find((name) => !known.includes(name));
  if (unknownField !== undefined)
    return errorResponse(400, `Unrecognized request argument: ${unknownField}`, { param: unknownField });
  const { input, speed, instructions } = body;
  if (typeof input !== "string" || input === "")
    return errorResponse(400, "There is no text to speak.", { param: "input" });
  if (typeof body[voice] !== "string") return errorResponse(400, "A voice is required.", { param: voice });
  const format = formats.find((candidate) => candidate === (body["response_format"] ?? "mp3"));
  if (format === undefined) return errorResponse(400, "That format is not supported.", { param: "response_format" });
  return {
    model,
    text: input,
    instructions: typeof instructions === "string" ? instructions : "",
    format,
    speed: typeof speed === "number" ? speed : 1,
  };
}

function synthesize({ text, instructions, format, speed }: SpeechParameters): SynthesizedSpeech {
  const seconds = speechSeconds(text) / speed;
  const audio = synthesizeSpeech(format, seconds);
  const bytes = Math.max(AUDIO_CHUNK_MIN_BYTES, 2 * Math.ceil(audio.length / AUDIO_CHUNKS / 2));
  const chunks: Buffer[] = [];
  for (let at = 0; at < audio.length; at += bytes) chunks.push(audio.subarray(at, at + bytes));
  const [input, output] = [countTokens(text + instructions), Math.ceil(seconds * TOKENS_PER_SECOND)];
  return { chunks, seconds, usage: { input_tokens: input, output_tokens: output, total_tokens: input + output } };
}

function sseEvent(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function streamResponse(
  contentType: string,
  chunks: readonly (string | Buffer)[],
  { model, text }: SpeechParameters,
  { slug }: SimulatedProvider,
): SimulatedResponse {
  const isCutShort = speechFaultFor(model, slug, text) === "cut";
  return { is: "frames", contentType, frames: chunks, ...(isCutShort ? { isCutShort } : {}) };
}

/** The response that replaces the audio when a fault is injected. */
function faultResponse(
  { model, text, format }: SpeechParameters,
  { slug }: SimulatedProvider,
): SimulatedResponse | undefined {
  switch (speechFaultFor(model, slug, text)) {
    case "html":
      return { is: "body", contentType: "text/html; charset=utf-8", body: WEB_PAGE, tokens: 1 };
    case "other_format": {
      const body = synthesizeSpeech(format === "wav" ? "mp3" : "wav", speechSeconds(text));
      return { is: "body", contentType: CONTENT_TYPES[format], body, tokens: 1 };
    }
    default:
      return undefined;
  }
}
