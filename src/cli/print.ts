import { isJsonObject, type JsonObject } from "../kit/json.ts";
import type { Column, View } from "./command.ts";

const CELL_CHARS_MAX = 80;

/** The value at a dotted path. */
function valueAt(value: unknown, at: string): unknown {
  return at.split(".").reduce<unknown>((found, key) => (isJsonObject(found) ? found[key] : undefined), value);
}

export function rowsAt(value: unknown, at: string): readonly unknown[] {
  const found = valueAt(value, at);
  return Array.isArray(found) ? found : [];
}

/** One value in one cell: names that callers chose must not draw on the terminal. */
export function cell(value: unknown): string {
  if (value === null || value === undefined || value === "") return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  const isFlat = Array.isArray(value) && value.every((item) => typeof item !== "object");
  if (isFlat) return value.length === 0 ? "-" : cell(value.join(", "));
  return (typeof value === "object" ? JSON.stringify(value) : String(value)).replace(/[\p{Cc}\p{Cf}]/gu, "?");
}

export function asText(answer: JsonObject, view: View): string {
  switch (view.is) {
    case "record":
      return asRecord(answer);
    case "table": {
      const rows = rowsAt(answer, "data");
      const none = rows.length === 0 && view.none !== undefined ? [view.none] : [];
      return [asTable(rows, view.columns, answer["next"]), ...none, ...besides(answer, view.also)].join("\n\n");
    }
    case "record_with_tables": {
      const tops = new Set(view.tables.map((table) => table.at.split(".")[0]));
      const rest = Object.fromEntries(Object.entries(answer).filter(([name]) => !tops.has(name)));
      const tables = view.tables
        .filter((table) => rowsAt(answer, table.at).length > 0)
        .map((table) => `\n${table.at}\n${asTable(rowsAt(answer, table.at), table.columns, null)}`);
      return [asRecord(rest), ...tables].join("\n");
    }
  }
}

function besides(answer: JsonObject, names: readonly string[] = []): string[] {
  const found = names.filter((name) => answer[name] !== undefined);
  return found.length === 0 ? [] : [asRecord(Object.fromEntries(found.map((name) => [name, answer[name]])))];
}

function asRecord(record: JsonObject): string {
  const rows = Object.entries(record).flatMap(([name, value]) => fieldRows(name, value));
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`).join("\n");
}

/** A word of a list is shorter. */
const SENTENCE_CHARS = 40;

function fieldRows(name: string, value: unknown): [string, string][] {
  if (Array.isArray(value) && value.some((item) => typeof item === "string" && item.length > SENTENCE_CHARS))
    return value.map((item, index) => [index === 0 ? name : "", cell(item)]);
  if (!isJsonObject(value)) return [[name, cell(value)]];
  return Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, cell(one)]);
}

function asTable(rows: readonly unknown[], columns: readonly Column[], next: unknown): string {
  if (rows.length === 0) return "(none)";
  const lines = [
    columns.map((column) => column.title.toUpperCase()),
    ...rows.map((row) => columns.map((column) => cellOf(row, column))),
  ];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  const text = lines.map((line) =>
    line
      .map((value, index) => value.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  if (typeof next === "string") text.push("", `More: --cursor ${next}`);
  return text.join("\n");
}

function cellOf(row: unknown, column: Column): string {
  const text = cell(valueAt(row, column.at));
  return column.cut === "never" ? text : cut(text);
}

/** A table stays readable; `--json` has the whole value. */
function cut(text: string): string {
  return text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX - 1)}…` : text;
}
