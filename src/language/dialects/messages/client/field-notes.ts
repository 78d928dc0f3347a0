import { isJsonObject } from "../../../../kit/json.ts";

/**
 * How a field is handled in translation: decoded, dropped and reported, dropped silently as an echo of a reply, or
 * available only in its own dialect.
 */
export type FieldHandling = "read" | "advisory" | "echo" | "native";

export type FieldRule = FieldHandling | ((value: unknown) => FieldHandling);
export type FieldRules = Readonly<Record<string, FieldRule>>;

const NOTES_MAX = 64;

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

  /** Unlisted fields count as native. */
  classify(value: object, rows: FieldRules, path: string): void {
    for (const [field, inner] of Object.entries(value)) {
      if (inner === null || inner === undefined) continue;
      const row = Object.hasOwn(rows, field) ? rows[field] : undefined;
      const lot = typeof row === "function" ? row(inner) : (row ?? "native");
      if (lot === "native" || lot === "advisory") this.note(lot, path === "" ? field : `${path}.${field}`);
    }
  }

  note(lot: "native" | "advisory", path: string): void {
    const list = lot === "native" ? this.#native : this.#advisory;
    if (list.size < NOTES_MAX) list.add(path.slice(0, 200));
  }
}

/** Rule for fields that are handled this way only for the given values. */
export function onlyAs(lot: FieldHandling, ...values: readonly unknown[]): FieldRule {
  return (value) => (values.includes(value) ? lot : "native");
}

/** Rule for lists and objects that are ignored only while empty. */
export const onlyEmpty: FieldRule = (value) => {
  const size = Array.isArray(value) ? value.length : isJsonObject(value) ? Object.keys(value).length : 1;
  return size === 0 ? "echo" : "native";
};
