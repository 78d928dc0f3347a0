import { isJsonObject } from "../../kit/json.ts";

/**
 * How a field is handled in translation: decoded, dropped and reported, dropped silently as an echo of a reply, or
 * available only in its own dialect.
 */
type FieldHandling = "read" | "advisory" | "echo" | "native";

export type FieldRule = FieldHandling | ((value: unknown) => FieldHandling);
export type FieldRules = Readonly<Record<string, FieldRule>>;

const NOTES_MAX = 64;
const NAME_CHARS_MAX = 200;

/** Collects fields that translation drops or cannot express. */
export class FieldNotes {
  readonly #native = new Set<string>();
  readonly #advisory = new Set<string>();

  get native(): readonly string[] {
    return [...this.#native];
  }

  get advisory(): readonly string[] {
    return [...this.#advisory];
  }

  classify(value: object, rules: FieldRules, path: string, unlisted: "native" | "advisory" = "native"): void {
    for (const [field, inner] of Object.entries(value)) {
      if (inner === null || inner === undefined) continue;
      const rule = Object.hasOwn(rules, field) ? rules[field] : undefined;
      const handling = typeof rule === "function" ? rule(inner) : (rule ?? unlisted);
      if (handling === "native" || handling === "advisory")
        this.note(handling, path === "" ? field : `${path}.${field}`);
    }
  }

  note(handling: "native" | "advisory", path: string): void {
    const list = handling === "native" ? this.#native : this.#advisory;
    // One path per kind of omission; a rejection names the very field.
    const name = handling === "native" ? path : path.replace(/\.\d+(?=\.|$)/g, "[]");
    if (list.size < NOTES_MAX) list.add(name.slice(0, NAME_CHARS_MAX));
  }
}

/** Rule for fields that are handled this way only for the given values. */
export function onlyAs(handling: FieldHandling, ...values: readonly unknown[]): FieldRule {
  return (value) => (values.includes(value) ? handling : "native");
}

/** Rule for lists of a reply that clients send back. */
export const echoedList: FieldRule = (value) => (Array.isArray(value) && value.length > 0 ? "advisory" : "echo");

/** Rule for lists and objects that are ignored only while empty. */
export const onlyEmpty: FieldRule = (value) => {
  const size = Array.isArray(value) ? value.length : isJsonObject(value) ? Object.keys(value).length : 1;
  return size === 0 ? "echo" : "native";
};
