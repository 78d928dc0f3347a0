import { once } from "node:events";
import { makeClient } from "./client.ts";
import type { Invocation } from "./command.ts";
import { csvLine, valueAt } from "./print.ts";
import { eachPage, fieldsOf, fillPath } from "./run-api.ts";
import { logFilters } from "./table.ts";

/** The columns of the CSV form: the fields of a row, with usage laid flat. */
const CSV_COLUMNS = [
  "id",
  "created_at",
  "key_id",
  "key_name",
  "member",
  "environment",
  "app",
  "surface",
  "model_requested",
  "model",
  "provider",
  "endpoint",
  "level",
  "countries",
  "router",
  "streaming",
  "status",
  "error_code",
  "usage.input_tokens",
  "usage.cached_tokens",
  "usage.cache_write_tokens",
  "usage.output_tokens",
  "usage.reasoning_tokens",
  "usage.characters",
  "usage.seconds",
  "usage.estimated",
  "cost",
  "currency",
  "ttfb_ms",
  "total_ms",
  "overhead_ms",
  "attempts",
] as const;

export async function runLogExport({ args, options, format }: Invocation): Promise<number> {
  const { path } = fillPath("/manage/workspaces/{workspace}/requests", [{ name: "workspace" }], args);
  const pages = eachPage(makeClient(process.env), path, fieldsOf(logFilters, options));
  if (format === "json") {
    const data: unknown[] = [];
    for await (const page of pages) data.push(...page);
    await write(`${JSON.stringify({ data, next: null }, null, 2)}\n`);
    return 0;
  }
  const isCsv = options["format"] === "csv";
  if (isCsv) await write(csvLine(CSV_COLUMNS));
  // Page by page, so that a long log does not have to fit into memory.
  for await (const page of pages)
    await write(page.map((row) => (isCsv ? csvRow(row) : `${JSON.stringify(row)}\n`)).join(""));
  return 0;
}

function csvRow(row: unknown): string {
  return csvLine(
    CSV_COLUMNS.map((at) => {
      const value = valueAt(row, at);
      return at === "countries" && Array.isArray(value) ? value.join(" ") : value;
    }),
  );
}

async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}
