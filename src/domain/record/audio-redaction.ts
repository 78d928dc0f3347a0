import { isJsonObject, type JsonObject, parseJsonText } from "../../kit/json.ts";

const AUDIO_MARKER = "[audio is never kept]";
const UNREADABLE_MARKER = "[left out: it could not be read and may hold audio]";

/** Words without which there is no sound in a body, and the one way of JSON to write a letter so that it is not seen. */
const MAY_CONTAIN_AUDIO =
  /audio|video|application\/ogg|\.(?:aac|flac|m4a|mp3|mp4|oga|ogg|opus|wav|webm)"|\\u00[2-7][0-9a-f]/i;
/** Sound inside an address, wherever in a text it stands. */
const AUDIO_DATA_URL = /data:(?:audio\/|video\/|application\/ogg)[^\s"'<>)\\]*/gi;
const AUDIO_MEDIA_TYPE = /^(?:audio\/|video\/|application\/ogg)/i;
const AUDIO_FILE_NAME = /\.(?:aac|flac|m4a|mp3|mp4|oga|ogg|opus|wav|webm)$/i;
/** Objects that hold sound, by the name of the field they stand in or by their own type. */
const AUDIO_FIELD = /^(?:input_|output_)?(?:audio|video)$/;
/** Events that bring a piece of it, but not of its transcript. */
const AUDIO_EVENT_TYPE = /(?:^|[._])audio\.(?:delta|done)$/;
const DATA_FIELDS = new Set(["data", "file_data", "b64_json", "bytes"]);
const TYPE_FIELDS = ["mime_type", "mimeType", "media_type", "mediaType", "content_type"] as const;
/** What stands in the place of a sound itself is a word; the sound would be longer. */
const INLINE_TEXT_CHARS_MAX = 64;
/** A body that is refused for being larger than this is not taken apart here either. */
const PARTS_MAX = 400_000;

/** The text of a body or of server-sent events, with a mark in the place of every sound. Other texts stay as they are. */
export function redactAudio(text: string): string {
  if (!MAY_CONTAIN_AUDIO.test(text)) return text;
  return redactJson(text) ?? (isEventStream(text) ? text.split("\n").map(redactLine).join("\n") : UNREADABLE_MARKER);
}

function isEventStream(text: string): boolean {
  return /^(?:event|data|id|retry|:)/.test(text) && /^data:/m.test(text);
}

function redactLine(line: string): string {
  if (!line.startsWith("data:") || !MAY_CONTAIN_AUDIO.test(line)) return line;
  const said = line.slice("data:".length);
  const clean = redactJson(said);
  return clean === said ? line : `data: ${clean ?? UNREADABLE_MARKER}`;
}

/** Undefined when it is not one JSON object, or has more levels or parts than any body may have. */
function redactJson(json: string): string | undefined {
  const parsed = parseJsonText(json, { partsMax: PARTS_MAX });
  if ("problem" in parsed) return undefined;
  const { value } = parsed;
  const clean = JSON.stringify(redactValue(value, "silent"));
  // A letter that was written another way is no sound: the text stays as it came.
  return clean === JSON.stringify(value) ? json : clean;
}

type AudioContext = "silent" | "sound";

function redactValue(value: unknown, around: AudioContext): unknown {
  if (typeof value === "string") return redactAudioInText(value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, around));
  return isJsonObject(value) ? redactObject(value, around) : value;
}

/** Words as somebody wrote or spoke them. Arguments of tools are JSON inside a text, and may hold what any other part may. */
export function redactAudioInText(text: string): string {
  if (!MAY_CONTAIN_AUDIO.test(text)) return text;
  const inner = text.startsWith("{") ? redactJson(text) : undefined;
  return inner ?? text.replace(AUDIO_DATA_URL, AUDIO_MARKER);
}

function redactObject(value: JsonObject, around: AudioContext): JsonObject {
  const sound = around === "sound" || isAudioObject(value) ? "sound" : "silent";
  const isEvent = typeof value["type"] === "string" && AUDIO_EVENT_TYPE.test(value["type"]);
  const clean: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const isHolder = AUDIO_FIELD.test(name);
    clean[name] =
      isAudioData(name, inner, isEvent ? "event" : isHolder ? "holder" : sound) && inner !== null
        ? AUDIO_MARKER
        : redactValue(inner, isHolder ? "sound" : sound);
  }
  return clean;
}

function isAudioData(name: string, inner: unknown, where: AudioContext | "event" | "holder"): boolean {
  const isText = typeof inner === "string";
  if (where === "event") return isText && (name === "delta" || DATA_FIELDS.has(name));
  if (where === "holder") return isText && inner.length > INLINE_TEXT_CHARS_MAX;
  // Numbers are bytes as well.
  return where === "sound" && DATA_FIELDS.has(name) && !isJsonObject(inner);
}

function isAudioObject(value: JsonObject): boolean {
  const { type, filename, file_name } = value;
  if (typeof type === "string" && AUDIO_FIELD.test(type)) return true;
  if ([filename, file_name].some((name) => typeof name === "string" && AUDIO_FILE_NAME.test(name))) return true;
  return TYPE_FIELDS.some((field) => {
    const said = value[field];
    return typeof said === "string" && AUDIO_MEDIA_TYPE.test(said);
  });
}
