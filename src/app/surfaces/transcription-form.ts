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
/** Objects may also be sent as one field that contains JSON. */
const JSON_FIELDS: ReadonlySet<string> = new Set(["chunking_strategy", "provider", "data_classes"]);
const NUMBERS: ReadonlySet<string> = new Set(["temperature", "prefix_padding_ms", "silence_duration_ms", "threshold"]);

const NAME = /^(?<base>[^[\]]+)(?:\[(?<key>[^[\]]*)\])?$/;
/** Accepts the output of common number formatters, such as `0.30000000000000004` and `1e-05`. */
const NUMBER = /^-?\d{1,15}(?:\.\d{1,20})?(?:e-?\d{1,3})?$/i;

/** Compared in lower case: Python writes `True`. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

/** Form fields as one object: `name[]` and repeated names form lists, `name[key]` forms objects. */
export function parseFormFields(fields: Fields): Record<string, unknown> {
  const singles = new Map<string, unknown>();
  const lists = new Map<string, string[]>();
  const objects = new Map<string, [string, unknown][]>();
  for (const [name, value] of fields) {
    const { base = "", key } = NAME.exec(name)?.groups ?? {};
    // Forms send an empty field for an absent value.
    if (isList(base, key)) {
      if (value !== "") lists.set(base, [...(lists.get(base) ?? []), value]);
    } else if (key === undefined && base !== "") {
      if (singles.has(base)) throw invalidValue(base, "is sent twice");
      singles.set(base, value === "" ? undefined : parseValue(base, value));
    } else if (key !== undefined && key !== "" && OBJECTS.has(base)) {
      const members = objects.get(base) ?? [];
      if (members.some(([known]) => known === key)) throw invalidValue(name, "is sent twice");
      objects.set(base, [...members, [key, parseValue(key, value)]]);
    } else throw unknownField(name.slice(0, 200));
  }
  for (const base of objects.keys()) if (singles.has(base)) throw invalidValue(base, "is sent twice");
  return Object.fromEntries<unknown>([
    ...singles,
    ...lists,
    ...[...objects].map(([base, members]): [string, unknown] => [base, Object.fromEntries(members)]),
  ]);
}

function isList(base: string, key: string | undefined): boolean {
  return LISTS.has(base) && (key === undefined || /^\d{0,3}$/.test(key));
}

function parseValue(name: string, text: string): unknown {
  if (NUMBERS.has(name)) return NUMBER.test(text) ? Number(text) : text;
  if (name === "stream") return BOOLEANS.get(text.toLowerCase()) ?? text;
  return JSON_FIELDS.has(name) && text.startsWith("{") ? parseJsonOrText(text) : text;
}

function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The loggable part of a form: its fields, and only the metadata of its file. */
export function loggableForm(
  fields: Fields,
  file: { filename: string; contentType: string; bytes: number } | undefined,
) {
  const loggable: Record<string, unknown> = Object.create(null);
  for (const [name, value] of fields) {
    if (name === "file" || name.startsWith("known_speaker_references")) continue;
    const known = loggable[name];
    loggable[name] = known === undefined ? parseValue(name, value) : [known, parseValue(name, value)].flat();
  }
  if (file !== undefined)
    loggable["file"] = { filename: file.filename, content_type: file.contentType, size: file.bytes };
  return loggable satisfies JsonObject;
}
