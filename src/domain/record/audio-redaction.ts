import { isJsonObject, type JsonObject, parseJsonText } from "../../kit/json.ts";

const LEFT_OUT = "[audio is never kept]";
const UNREADABLE = "[left out: it could not be read and may hold audio]";

/** Words without which there is no sound in a body, and the one way of JSON to write a letter so that it is not seen. */
const HINT = /audio|video|application\/ogg|\.(?:aac|flac|m4a|mp3|mp4|oga|ogg|opus|wav|webm)"|\\u00[2-7][0-9a-f]/i;
/** Sound inside an address, wherever in a text it stands. */
const SOUND_URL = /data:(?:audio\/|video\/|application\/ogg)[^\s"'<>)\\]*/gi;
const SOUND_TYPE = /^(?:audio\/|video\/|application\/ogg)/i;
const SOUND_NAME = /\.(?:aac|flac|m4a|mp3|mp4|oga|ogg|opus|wav|webm)$/i;
/** Objects that hold sound, by the name of the field they stand in or by their own type. */
const SOUND_HOLDER = /^(?:input_|output_)?(?:audio|video)$/;
/** Events that bring a piece of it, but not of its transcript. */
const SOUND_EVENT = /(?:^|[._])audio\.(?:delta|done)$/;
const DATA_FIELDS = new Set(["data", "file_data", "b64_json", "bytes"]);
const TYPE_FIELDS = ["mime_type", "mimeType", "media_type", "mediaType", "content_type"] as const;
/** What stands in the place of a sound itself is a word; the sound would be longer. */
const WORD_CHARS_MAX = 64;
/** A body that is refused for being larger than this is not taken apart here either. */
const PARTS_MAX = 400_000;

/** The text of a body or of server-sent events, with a mark in the place of every sound. Other texts stay as they are. */
export function withoutAudio(text: string): string {
  if (!HINT.test(text)) return text;
  return cleaned(text) ?? (isEvents(text) ? text.split("\n").map(cleanedLine).join("\n") : UNREADABLE);
}

function isEvents(text: string): boolean {
  return /^(?:event|data|id|retry|:)/.test(text) && /^data:/m.test(text);
}

function cleanedLine(line: string): string {
  if (!line.startsWith("data:") || !HINT.test(line)) return line;
  const said = line.slice("data:".length);
  const clean = cleaned(said);
  return clean === said ? line : `data: ${clean ?? UNREADABLE}`;
}

/** Undefined when it is not one JSON object, or has more levels or parts than any body may have. */
function cleaned(json: string): string | undefined {
  const parsed = parseJsonText(json, { partsMax: PARTS_MAX });
  if ("problem" in parsed) return undefined;
  const { value } = parsed;
  const clean = JSON.stringify(walked(value, "silent"));
  // A letter that was written another way is no sound: the text stays as it came.
  return clean === JSON.stringify(value) ? json : clean;
}

type Around = "silent" | "sound";

function walked(value: unknown, around: Around): unknown {
  if (typeof value === "string") return wordsWithoutAudio(value);
  if (Array.isArray(value)) return value.map((item) => walked(item, around));
  return isJsonObject(value) ? walkedObject(value, around) : value;
}

/** Words as somebody wrote or spoke them. Arguments of tools are JSON inside a text, and may hold what any other part may. */
export function wordsWithoutAudio(text: string): string {
  if (!HINT.test(text)) return text;
  const inner = text.startsWith("{") ? cleaned(text) : undefined;
  return inner ?? text.replace(SOUND_URL, LEFT_OUT);
}

function walkedObject(value: JsonObject, around: Around): JsonObject {
  const sound = around === "sound" || holdsSound(value) ? "sound" : "silent";
  const isEvent = typeof value["type"] === "string" && SOUND_EVENT.test(value["type"]);
  const clean: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const isHolder = SOUND_HOLDER.test(name);
    clean[name] =
      isSound(name, inner, isEvent ? "event" : isHolder ? "holder" : sound) && inner !== null
        ? LEFT_OUT
        : walked(inner, isHolder ? "sound" : sound);
  }
  return clean;
}

function isSound(name: string, inner: unknown, where: Around | "event" | "holder"): boolean {
  const isText = typeof inner === "string";
  if (where === "event") return isText && (name === "delta" || DATA_FIELDS.has(name));
  if (where === "holder") return isText && inner.length > WORD_CHARS_MAX;
  // Numbers are bytes as well.
  return where === "sound" && DATA_FIELDS.has(name) && !isJsonObject(inner);
}

function holdsSound(value: JsonObject): boolean {
  const { type, filename, file_name } = value;
  if (typeof type === "string" && SOUND_HOLDER.test(type)) return true;
  if ([filename, file_name].some((name) => typeof name === "string" && SOUND_NAME.test(name))) return true;
  return TYPE_FIELDS.some((field) => {
    const said = value[field];
    return typeof said === "string" && SOUND_TYPE.test(said);
  });
}
