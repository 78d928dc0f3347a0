import { isJsonObject, type JsonObject, parseJsonObject } from "../kit/json.ts";
import type { AudioFormat } from "../language/audio/meter.ts";
import { CONTENT_TYPES } from "../language/speech/call.ts";
import { secondsToSay, speechOf } from "./audio/speech.ts";
import { chatFormat } from "./chat.ts";
import { geminiFormat } from "./gemini.ts";
import { isSpeaker, speechMishapOf } from "./speech-mishaps.ts";
import { countTokens } from "./tokens.ts";
import { type Delivery, type Desk, type Refusal, refusal, type WireFormat } from "./wire.ts";

/** The one that speaks Mistral's format. */
const OTHER_FORMAT = "sandbox-fr";
const TOKENS_PER_SECOND = 25;
const PIECES = 16;
const PIECE_BYTES_MIN = 64;
const WEB_PAGE = "<!doctype html><html><body><h1>It works!</h1><p>A page where audio should be.</p></body></html>\n";

type Asked = {
  readonly model: string;
  readonly text: string;
  readonly instructions: string;
  readonly format: AudioFormat;
  readonly speed: number;
};

type Said = { readonly pieces: readonly Buffer[]; readonly seconds: number; readonly usage: JsonObject };

/** Speech in OpenAI's format, and at one provider in Mistral's, which has the same path. */
export const speechFormat: WireFormat = {
  ...chatFormat,
  claims: (path) => path === "/v1/audio/speech",
  open({ body }) {
    const parsed = parseJsonObject(body);
    if ("problem" in parsed) return refusal(400, "The body is not JSON.");
    const { model } = parsed.value;
    if (typeof model !== "string") return refusal(400, "you must provide a model parameter", { param: "model" });
    return {
      is: "opened",
      model,
      deliver: (desk) => (desk.provider === OTHER_FORMAT ? likeMistral : likeOpenai)(parsed.value, model, desk),
    };
  },
};

/** Speech as Gemini gives it: raw samples in the place of words. */
export const geminiSpeechFormat: WireFormat = {
  ...geminiFormat,
  claims: (path) => geminiFormat.claims(path) && isSpeaker(modelIn(path)),
  open({ path, body }) {
    const parsed = parseJsonObject(body);
    if ("problem" in parsed) return refusal(400, "The body is not JSON.");
    const model = modelIn(path);
    const form = path.endsWith(":streamGenerateContent") ? "events" : "whole";
    return { is: "opened", model, deliver: (desk) => likeGemini(parsed.value, model, form, desk) };
  },
};

function modelIn(path: string): string {
  return decodeURIComponent(/\/models\/([^/:]+):/.exec(path)?.[1] ?? "");
}

const OPENAI_FIELDS = ["model", "input", "voice", "response_format", "speed", "instructions", "stream_format"];
const FORMATS: readonly AudioFormat[] = ["mp3", "opus", "aac", "flac", "wav", "pcm"];

function likeOpenai(body: JsonObject, model: string, desk: Desk): Delivery | Refusal {
  const asked = askedOf(body, model, { known: OPENAI_FIELDS, voice: "voice", formats: FORMATS });
  if ("is" in asked) return asked;
  const mishap = mishapDelivery(asked, desk);
  if (mishap !== undefined) return mishap;
  const { pieces, usage } = say(asked);
  if (body["stream_format"] !== "sse") return frames(CONTENT_TYPES[asked.format], pieces, asked, desk);
  const events = pieces.map((piece) => event({ type: "speech.audio.delta", audio: piece.toString("base64") }));
  return frames("text/event-stream", [...events, event({ type: "speech.audio.done", usage })], asked, desk);
}

const MISTRAL_FIELDS = ["model", "input", "voice_id", "response_format", "stream"];

function likeMistral(body: JsonObject, model: string, desk: Desk): Delivery | Refusal {
  const formats = FORMATS.filter((format) => format !== "aac");
  const asked = askedOf(body, model, { known: MISTRAL_FIELDS, voice: "voice_id", formats });
  if ("is" in asked) return asked;
  const mishap = mishapDelivery(asked, desk);
  if (mishap !== undefined) return mishap;
  const { pieces, usage } = say(asked);
  if (body["stream"] !== true) {
    const whole = JSON.stringify({ audio_data: Buffer.concat(pieces).toString("base64") });
    return { is: "whole", contentType: "application/json", body: whole, tokens: pieces.length };
  }
  const events = pieces.map((piece) => event({ type: "speech.audio.delta", audio_data: piece.toString("base64") }));
  return frames("text/event-stream", [...events, event({ type: "speech.audio.done", usage })], asked, desk);
}

function likeGemini(body: JsonObject, model: string, form: "whole" | "events", desk: Desk): Delivery | Refusal {
  const config = objectIn(body, "generationConfig");
  const modalities = config["responseModalities"];
  if (!Array.isArray(modalities) || modalities[0] !== "AUDIO")
    return refusal(400, "The model only supports the AUDIO response modality.");
  const voice = objectIn(objectIn(objectIn(config, "speechConfig"), "voiceConfig"), "prebuiltVoiceConfig");
  if (typeof voice["voiceName"] !== "string") return refusal(400, "A voice must be configured.");
  const asked: Asked = { model, text: textIn(body), instructions: "", format: "pcm", speed: 1 };
  const mishap = mishapDelivery(asked, desk);
  if (mishap !== undefined) return mishap;
  const { pieces, usage } = say(asked);
  const responseId = desk.nextId("sim");
  const chunk = (bytes: Buffer, last: JsonObject) => ({
    candidates: [{ content: { role: "model", parts: [inline(bytes)] }, index: 0, ...last }],
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
    const whole = { ...chunk(Buffer.concat(pieces), end), usageMetadata };
    return { is: "whole", contentType: "application/json", body: JSON.stringify(whole, undefined, 2), tokens: PIECES };
  }
  const events = pieces.map((piece, at) =>
    event(at === pieces.length - 1 ? { ...chunk(piece, end), usageMetadata } : chunk(piece, {})),
  );
  return frames("text/event-stream", events, asked, desk);
}

function inline(bytes: Buffer): JsonObject {
  return { inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: bytes.toString("base64") } };
}

function objectIn(value: JsonObject, name: string): JsonObject {
  const inner = value[name];
  return isJsonObject(inner) ? inner : {};
}

function textIn(body: JsonObject): string {
  const [content] = Array.isArray(body["contents"]) ? body["contents"].filter(isJsonObject) : [];
  const parts = content !== undefined && Array.isArray(content["parts"]) ? content["parts"].filter(isJsonObject) : [];
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("");
}

type Form = { readonly known: readonly string[]; readonly voice: string; readonly formats: readonly AudioFormat[] };

function askedOf(body: JsonObject, model: string, { known, voice, formats }: Form): Asked | Refusal {
  const extra = Object.keys(body).find((name) => !known.includes(name));
  if (extra !== undefined) return refusal(400, `Unrecognized request argument: ${extra}`, { param: extra });
  const { input, speed, instructions } = body;
  if (typeof input !== "string" || input === "") return refusal(400, "There is no text to say.", { param: "input" });
  if (typeof body[voice] !== "string") return refusal(400, "A voice is required.", { param: voice });
  const format = formats.find((one) => one === (body["response_format"] ?? "mp3"));
  if (format === undefined) return refusal(400, "That format is not supported.", { param: "response_format" });
  return {
    model,
    text: input,
    instructions: typeof instructions === "string" ? instructions : "",
    format,
    speed: typeof speed === "number" ? speed : 1,
  };
}

function say({ text, instructions, format, speed }: Asked): Said {
  const seconds = secondsToSay(text) / speed;
  const audio = speechOf(format, seconds);
  const bytes = Math.max(PIECE_BYTES_MIN, 2 * Math.ceil(audio.length / PIECES / 2));
  const pieces: Buffer[] = [];
  for (let at = 0; at < audio.length; at += bytes) pieces.push(audio.subarray(at, at + bytes));
  const [input, output] = [countTokens(text + instructions), Math.ceil(seconds * TOKENS_PER_SECOND)];
  return { pieces, seconds, usage: { input_tokens: input, output_tokens: output, total_tokens: input + output } };
}

function event(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function frames(
  contentType: string,
  pieces: readonly (string | Buffer)[],
  { model, text }: Asked,
  { provider }: Desk,
): Delivery {
  const breaks = speechMishapOf(model, provider, text) === "cut";
  return { is: "frames", contentType, frames: pieces, ...(breaks ? { breaks } : {}) };
}

/** What comes in the place of the audio. */
function mishapDelivery({ model, text, format }: Asked, { provider }: Desk): Delivery | undefined {
  switch (speechMishapOf(model, provider, text)) {
    case "html":
      return { is: "whole", contentType: "text/html; charset=utf-8", body: WEB_PAGE, tokens: 1 };
    case "other_format": {
      const body = speechOf(format === "wav" ? "mp3" : "wav", secondsToSay(text));
      return { is: "whole", contentType: CONTENT_TYPES[format], body, tokens: 1 };
    }
    default:
      return undefined;
  }
}
