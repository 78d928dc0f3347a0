import { invalidValue, unknownField } from "../../contract/faults.ts";
import type { JsonObject } from "../../kit/json.ts";

type Fields = readonly (readonly [name: string, value: string])[];

const LISTS: ReadonlySet<string> = new Set([
  "timestamp_granularities",
  "include",
  "languages",
  "keywords",
  "known_speaker_names",
  "known_speaker_references",
]);
const OBJECTS: ReadonlySet<string> = new Set(["chunking_strategy"]);
/** Objects may come as one field with JSON in it as well. */
const JSON_FIELDS: ReadonlySet<string> = new Set(["chunking_strategy", "provider"]);
const NUMBERS: ReadonlySet<string> = new Set(["temperature", "prefix_padding_ms", "silence_duration_ms", "threshold"]);

const NAME = /^(?<base>[^[\]]+)(?:\[(?<key>[^[\]]*)\])?$/;
/** As languages write numbers: `0.30000000000000004` and `1e-05` too. */
const NUMBER = /^-?\d{1,15}(?:\.\d{1,20})?(?:e-?\d{1,3})?$/i;

/** Some languages write these with a capital. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

/** The fields of a form as one object: `name[]` and a repeated list are lists, `name[key]` are members of an object. */
export function valuesOf(fields: Fields): Record<string, unknown> {
  const singles = new Map<string, unknown>();
  const lists = new Map<string, string[]>();
  const objects = new Map<string, [string, unknown][]>();
  for (const [name, value] of fields) {
    const { base = "", key } = NAME.exec(name)?.groups ?? {};
    // An empty field is what forms send for nothing.
    if (isList(base, key)) {
      if (value !== "") lists.set(base, [...(lists.get(base) ?? []), value]);
    } else if (key === undefined && base !== "") {
      if (singles.has(base)) throw invalidValue(base, "it is given twice");
      singles.set(base, value === "" ? undefined : read(base, value));
    } else if (key !== undefined && key !== "" && OBJECTS.has(base)) {
      const members = objects.get(base) ?? [];
      if (members.some(([known]) => known === key)) throw invalidValue(name, "it is given twice");
      objects.set(base, [...members, [key, read(key, value)]]);
    } else throw unknownField(name.slice(0, 200));
  }
  for (const base of objects.keys()) if (singles.has(base)) throw invalidValue(base, "it is given twice");
  return Object.fromEntries<unknown>([
    ...singles,
    ...lists,
    ...[...objects].map(([base, members]): [string, unknown] => [base, Object.fromEntries(members)]),
  ]);
}

function isList(base: string, key: string | undefined): boolean {
  return LISTS.has(base) && (key === undefined || /^\d{0,3}$/.test(key));
}

function read(name: string, text: string): unknown {
  if (NUMBERS.has(name)) return NUMBER.test(text) ? Number(text) : text;
  if (name === "stream") return BOOLEANS.get(text.toLowerCase()) ?? text;
  return JSON_FIELDS.has(name) && text.startsWith("{") ? parsed(text) : text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What a capture window may keep of a form: its fields, and of files nothing but that they were there. */
export function keptOf(fields: Fields, file: { filename: string; contentType: string; bytes: number } | undefined) {
  const kept: Record<string, unknown> = Object.create(null);
  for (const [name, value] of fields) {
    if (name === "file" || name.startsWith("known_speaker_references")) continue;
    const known = kept[name];
    kept[name] = known === undefined ? read(name, value) : [known, read(name, value)].flat();
  }
  if (file !== undefined) kept["file"] = { filename: file.filename, content_type: file.contentType, size: file.bytes };
  return kept satisfies JsonObject;
}
