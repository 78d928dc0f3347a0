import { isJsonObject } from "../../../../kit/json.ts";

/** What becomes of a field: read here, left out and noted, left out as an echo of an answer, or only for the dialect itself. */
export type FieldHandling = "read" | "advisory" | "echo" | "native";

/** A field's lot, or how it is drawn from the value. */
export type FieldRule = FieldHandling | ((value: unknown) => FieldHandling);
export type FieldRules = Readonly<Record<string, FieldRule>>;

const NOTES_MAX = 64;

/** Collects, while a request is read, the fields that cannot be said elsewhere. */
export class FieldNotes {
  readonly #native = new Set<string>();
  readonly #advisory = new Set<string>();

  get native(): readonly string[] {
    return [...this.#native];
  }

  get advisory(): readonly string[] {
    return [...this.#advisory];
  }

  /** Every field of an object by its row; one that has none is known to the dialect's own endpoints at best. */
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

/** A row for fields that mean nothing with these values, and something only the dialect can say with any other. */
export function onlyAs(lot: FieldHandling, ...values: readonly unknown[]): FieldRule {
  return (value) => (values.includes(value) ? lot : "native");
}

/** A row for lists and objects that mean nothing while they are empty. */
export const onlyEmpty: FieldRule = (value) => {
  const size = Array.isArray(value) ? value.length : isJsonObject(value) ? Object.keys(value).length : 1;
  return size === 0 ? "echo" : "native";
};
