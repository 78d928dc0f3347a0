import { ExportQuery } from "../../../contract/schemas/manage-log.ts";
import type { LogStore } from "../../../domain/record/record.ts";
import { csvLine } from "../../../kit/csv.ts";
import { type Exchange, type Handler, type ResponseSink, streamed } from "../../exchange.ts";
import { readQuery } from "../../request-input.ts";
import { findWorkspace, type ManageDeps } from "../deps.ts";
import { requestView } from "../views.ts";
import { parseLogFilter, restrictToCaller } from "./log-filter.ts";

type RequestView = ReturnType<typeof requestView>;
type ExportColumn = readonly [name: string, read: (row: RequestView) => unknown];

const field = (name: keyof RequestView): ExportColumn => [name, (row) => row[name]];
const used = (name: keyof RequestView["usage"]): ExportColumn => [`usage.${name}`, ({ usage }) => usage[name]];

/** A row's fields with flattened usage; new columns are appended, because readers rely on positions. */
const COLUMNS: readonly ExportColumn[] = [
  field("id"),
  field("created_at"),
  field("key_id"),
  field("key_name"),
  field("member"),
  field("environment"),
  field("app"),
  field("surface"),
  field("model_requested"),
  field("model"),
  field("provider"),
  field("endpoint"),
  field("level"),
  ["countries", ({ countries }) => countries?.join(" ")],
  field("router"),
  field("streaming"),
  field("status"),
  field("error_code"),
  used("input_tokens"),
  used("cached_tokens"),
  used("cache_write_tokens"),
  used("output_tokens"),
  used("reasoning_tokens"),
  used("characters"),
  used("seconds"),
  used("estimated"),
  field("cost"),
  field("currency"),
  field("ttfb_ms"),
  field("total_ms"),
  field("overhead_ms"),
  field("attempts"),
  field("own_key"),
];

const FORMATS = {
  csv: {
    type: "text/csv; charset=utf-8; header=present",
    head: csvLine(COLUMNS.map(([name]) => name)),
    line: (row: RequestView) => csvLine(COLUMNS.map(([, read]) => read(row))),
  },
  jsonl: { type: "application/x-ndjson", head: "", line: (row: RequestView) => `${JSON.stringify(row)}\n` },
} as const;

/** One page is read ahead, so memory holds two pages at most. */
const PAGE_ROWS = 500;

export type LogExportContext = Pick<ManageDeps, "directory" | "waitForIngest"> & {
  readonly store: { readonly log: Pick<LogStore, "list"> };
};

export function exportHandlers(context: LogExportContext): Record<string, Handler> {
  return { manageExportRequests: streamed((exchange, sink) => exportLog(context, exchange, sink)) };
}

async function exportLog(context: LogExportContext, exchange: Exchange, sink: ResponseSink): Promise<void> {
  const workspace = findWorkspace(context, exchange.params["workspace"]);
  const query = readQuery(exchange, ExportQuery);
  const filter = restrictToCaller(parseLogFilter(query, workspace, context.directory), exchange);
  await context.waitForIngest();
  const read = (cursor: string | null) => context.store.log.list(workspace.id, filter, PAGE_ROWS, cursor);
  const { line, ...form } = FORMATS[query.format];
  await sendPages(exchange, sink, {
    ...form,
    fileName: `${workspace.slug}-requests.${query.format}`,
    read,
    line: (row) => line(requestView(row, context.directory)),
  });
}

export type ExportFile<Row> = {
  readonly type: string;
  readonly fileName: string;
  readonly head: string;
  line(row: Row): string;
  read(cursor: string | null): Promise<{ readonly rows: readonly Row[]; readonly next: string | null }>;
};

/** Streams all pages as one file. */
export async function sendPages<Row>(exchange: Exchange, sink: ResponseSink, file: ExportFile<Row>): Promise<void> {
  const { type, fileName, head, line, read } = file;
  let page = await read(null);
  sink.start(200, {
    ...exchange.baseHeaders,
    "content-type": type,
    "content-disposition": `attachment; filename="${fileName}"`,
    "cache-control": "no-store",
  });
  let text = head;
  for (;;) {
    const following = page.next === null ? undefined : read(page.next);
    // After a disconnect the promise is not awaited, so its rejection needs a handler.
    following?.catch(() => undefined);
    text += page.rows.map(line).join("");
    if (text !== "" && !sink.write(text)) await sink.drained();
    if (sink.disconnected) return;
    text = "";
    if (following === undefined) break;
    page = await following;
  }
  sink.end();
}
