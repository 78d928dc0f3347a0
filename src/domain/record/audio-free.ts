import { isJsonObject, type JsonObject } from "../../kit/json.ts";

const LEFT_OUT = "[audio is never kept]";
const UNREADABLE = "[left out: it could not be read and may hold audio]";

/** Words without which there is no sound in a body. */
const HINT = /audio|video|\.(?:aac|flac|m4a|mp3|mp4|oga|ogg|opus|wav|webm)"/i;
const SOUND_URL = /^data:(?:audio|video)\//i;
const SOUND_TYPE = /^(?:audio|video)\//i;
const SOUND_NAME = /\.(?:aac|flac|m4a|mp3|mp4|oga|ogg|opus|wav|webm)$/i;
/** Objects that hold sound, by the name of the field they stand in or by their own type. */
const SOUND_HOLDER = /^(?:input_|output_)?(?:audio|video)$/;
/** Events that bring a piece of it, but not of its transcript. */
const SOUND_EVENT = /(?:^|[._])audio\.(?:delta|done)$/;
const DATA_FIELDS = new Set(["data", "file_data", "b64_json", "bytes"]);
const TYPE_FIELDS = ["mime_type", "mimeType", "media_type", "mediaType", "content_type"] as const;

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
  return `data: ${cleaned(line.slice("data:".length)) ?? UNREADABLE}`;
}

/** Undefined when it is not JSON, or nested deeper than can be walked. */
function cleaned(json: string): string | undefined {
  try {
    return JSON.stringify(walked(JSON.parse(json), "silent"));
  } catch {
    return undefined;
  }
}

type Around = "silent" | "sound";

function walked(value: unknown, around: Around): unknown {
  if (typeof value === "string") return SOUND_URL.test(value) ? LEFT_OUT : value;
  if (Array.isArray(value)) return value.map((item) => walked(item, around));
  return isJsonObject(value) ? walkedObject(value, around) : value;
}

function walkedObject(value: JsonObject, around: Around): JsonObject {
  const sound = around === "sound" || holdsSound(value) ? "sound" : "silent";
  const isEvent = typeof value["type"] === "string" && SOUND_EVENT.test(value["type"]);
  const clean: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const isSound = (sound === "sound" && DATA_FIELDS.has(name)) || (isEvent && name === "delta");
    clean[name] =
      isSound && typeof inner === "string"
        ? LEFT_OUT
        : walked(inner, SOUND_HOLDER.test(name) && isJsonObject(inner) ? "sound" : "silent");
  }
  return clean;
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
