import { isJsonObject, type JsonObject, parseJsonText } from "../../kit/json.ts";

const AUDIO_MARKER = "[audio is never stored]";
const UNREADABLE_MARKER = "[omitted: unreadable, may contain audio]";

/** A cheap pre-check: audio always comes with one of these words, or with an escaped letter that may hide one. */
const MAY_CONTAIN_AUDIO =
  /audio|video|application\/ogg|\.(?:aac|flac|m4a|mp3|mp4|oga|ogg|opus|wav|webm)"|\\u00[2-7][0-9a-f]/i;
/** Anywhere inside a text. */
const AUDIO_DATA_URL = /data:(?:audio\/|video\/|application\/ogg)[^\s"'<>)\\]*/gi;
const AUDIO_MEDIA_TYPE = /^(?:audio\/|video\/|application\/ogg)/i;
const AUDIO_FILE_NAME = /\.(?:aac|flac|m4a|mp3|mp4|oga|ogg|opus|wav|webm)$/i;
/** Matches the name of a field, or the `type` of an object, that holds audio. */
const AUDIO_FIELD = /^(?:input_|output_)?(?:audio|video)$/;
/** Audio chunks, but not transcript chunks. */
const AUDIO_EVENT_TYPE = /(?:^|[._])audio\.(?:delta|done)$/;
const DATA_FIELDS = new Set(["data", "file_data", "b64_json", "bytes"]);
const TYPE_FIELDS = ["mime_type", "mimeType", "media_type", "mediaType", "content_type"] as const;
/** Shorter values of an audio field are options such as a voice or a format. */
const INLINE_TEXT_CHARS_MAX = 64;
/** The same limit as for request bodies. */
const PARTS_MAX = 400_000;

/** Replaces audio in a body or in server-sent events by a marker. Other texts stay byte for byte. */
export function redactAudio(text: string): string {
  if (!MAY_CONTAIN_AUDIO.test(text)) return text;
  return redactJson(text) ?? (isEventStream(text) ? text.split("\n").map(redactLine).join("\n") : UNREADABLE_MARKER);
}

function isEventStream(text: string): boolean {
  return /^(?:event|data|id|retry|:)/.test(text) && /^data:/m.test(text);
}

function redactLine(line: string): string {
  if (!line.startsWith("data:") || !MAY_CONTAIN_AUDIO.test(line)) return line;
  const data = line.slice("data:".length);
  const redacted = redactJson(data);
  return redacted === data ? line : `data: ${redacted ?? UNREADABLE_MARKER}`;
}

/** Undefined when the text is not a JSON object within the limits of request bodies. */
function redactJson(json: string): string | undefined {
  const parsed = parseJsonText(json, { partsMax: PARTS_MAX });
  if ("problem" in parsed) return undefined;
  const { value } = parsed;
  const redacted = JSON.stringify(redactValue(value, "silent"));
  // Without audio the original bytes are kept, including their escapes.
  return redacted === JSON.stringify(value) ? json : redacted;
}

type AudioContext = "silent" | "sound";

function redactValue(value: unknown, context: AudioContext): unknown {
  if (typeof value === "string") return redactAudioInText(value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, context));
  return isJsonObject(value) ? redactObject(value, context) : value;
}

/** Tool arguments are JSON inside a string, so they are searched as well. */
export function redactAudioInText(text: string): string {
  if (!MAY_CONTAIN_AUDIO.test(text)) return text;
  const inner = text.startsWith("{") ? redactJson(text) : undefined;
  return inner ?? text.replace(AUDIO_DATA_URL, AUDIO_MARKER);
}

function redactObject(value: JsonObject, context: AudioContext): JsonObject {
  const innerContext = context === "sound" || isAudioObject(value) ? "sound" : "silent";
  const isEvent = typeof value["type"] === "string" && AUDIO_EVENT_TYPE.test(value["type"]);
  const redacted: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const isHolder = AUDIO_FIELD.test(name);
    redacted[name] =
      isAudioData(name, inner, isEvent ? "event" : isHolder ? "holder" : innerContext) && inner !== null
        ? AUDIO_MARKER
        : redactValue(inner, isHolder ? "sound" : innerContext);
  }
  return redacted;
}

function isAudioData(name: string, inner: unknown, where: AudioContext | "event" | "holder"): boolean {
  const isText = typeof inner === "string";
  if (where === "event") return isText && (name === "delta" || DATA_FIELDS.has(name));
  if (where === "holder") return isText && inner.length > INLINE_TEXT_CHARS_MAX;
  // Bytes may also be an array of numbers.
  return where === "sound" && DATA_FIELDS.has(name) && !isJsonObject(inner);
}

function isAudioObject(value: JsonObject): boolean {
  const { type, filename, file_name } = value;
  if (typeof type === "string" && AUDIO_FIELD.test(type)) return true;
  if ([filename, file_name].some((name) => typeof name === "string" && AUDIO_FILE_NAME.test(name))) return true;
  return TYPE_FIELDS.some((field) => {
    const declared = value[field];
    return typeof declared === "string" && AUDIO_MEDIA_TYPE.test(declared);
  });
}
