import { invalidValue } from "../../../contract/faults.ts";
import { EntryExportQuery, EntryQuery, StatementQuery, WalletKind } from "../../../contract/schemas/manage-money.ts";
import {
  type LedgerFilter,
  requestIdOf,
  type StatementSums,
  type Transaction,
} from "../../../domain/billing/ledger.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { csvLine } from "../../../kit/csv.ts";
import { formatNanos } from "../../../kit/money.ts";
import { buffered, type Exchange, type Handler, type ResponseSink, streamed } from "../../exchange.ts";
import { readQuery } from "../../request-input.ts";
import { findWorkspace, type ManageContext } from "../deps.ts";
import { sendPages } from "../records/log-export.ts";
import { parseTime } from "../tenancy/key-settings.ts";
import { isoTime, transactionView } from "../views.ts";

type EntryView = ReturnType<typeof entryView>;

function entryView(transaction: Transaction, { currency }: Workspace) {
  return { ...transactionView(transaction, currency), request: requestIdOf(transaction) };
}

type EntryFilterInput = {
  readonly kind?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
};

function parseEntryFilter({ kind, since, until }: EntryFilterInput): LedgerFilter {
  const sinceMs = parseTime("since", since ?? null);
  const untilMs = parseTime("until", until ?? null);
  return {
    ...(kind === undefined ? {} : { kinds: kind.split(",").map(parseKind) }),
    ...(sinceMs === null ? {} : { sinceMs }),
    ...(untilMs === null ? {} : { untilMs }),
  };
}

function parseKind(text: string) {
  const kind = WalletKind.safeParse(text.trim());
  if (kind.success) return kind.data;
  throw invalidValue("kind", `must be one or more of ${WalletKind.options.join(", ")}, comma-separated`);
}

type EntryPage = { readonly limit: number; readonly cursor: string | null; readonly filter: LedgerFilter };

/** With the balance after each entry, unless the filter skips entries. */
async function entriesView({ store }: ManageContext, workspace: Workspace, { limit, cursor, filter }: EntryPage) {
  if (filter.kinds !== undefined) {
    const { rows, next } = await store.ledger.entries(workspace.id, limit, cursor, filter);
    return { data: rows.map((row) => ({ ...entryView(row, workspace), balance_after: null })), next };
  }
  const { rows, next } = await store.ledger.balances(workspace.id, limit, cursor, filter);
  const data = rows.map(({ transaction, balanceNanos }) => ({
    ...entryView(transaction, workspace),
    balance_after: formatNanos(balanceNanos),
  }));
  return { data, next };
}

const COLUMNS = ["id", "kind", "created_at", "in", "out", "currency", "note"] as const;

/** Separate columns for in and out, because spreadsheets read a leading minus as a formula. */
function entryCsv({ id, kind, created_at, amount, currency, note }: EntryView): string {
  const isOut = amount.startsWith("-");
  return csvLine([id, kind, created_at, isOut ? "" : amount, isOut ? amount.slice(1) : "", currency, note]);
}

const FORMATS = {
  csv: { type: "text/csv; charset=utf-8; header=present", head: csvLine(COLUMNS), line: entryCsv },
  jsonl: { type: "application/x-ndjson", head: "", line: (row: EntryView) => `${JSON.stringify(row)}\n` },
} as const;

const PAGE_ROWS = 500;

async function exportEntries(context: ManageContext, exchange: Exchange, sink: ResponseSink): Promise<void> {
  const workspace = findWorkspace(context, exchange.params["workspace"]);
  const { format, ...input } = readQuery(exchange, EntryExportQuery);
  const filter = parseEntryFilter(input);
  await context.waitForIngest();
  const { line, ...form } = FORMATS[format];
  await sendPages(exchange, sink, {
    ...form,
    fileName: `${workspace.slug}-wallet.${format}`,
    read: (cursor) => context.store.ledger.entries(workspace.id, PAGE_ROWS, cursor, filter),
    line: (row) => line(entryView(row, workspace)),
  });
}

function statementView(workspace: Workspace, month: string, sums: StatementSums) {
  const { currency, slug } = workspace;
  const { openingNanos, kinds, models } = sums;
  const netNanos = kinds.reduce((sum, { inNanos, outNanos }) => sum + inNanos - outNanos, 0n);
  const [fromMs, toMs] = monthOf(month);
  return {
    workspace: slug,
    month,
    from: isoTime(fromMs),
    to: isoTime(toMs),
    currency,
    opening_balance: formatNanos(openingNanos),
    closing_balance: formatNanos(openingNanos + netNanos),
    kinds: kinds
      .toSorted((a, b) => (a.kind < b.kind ? -1 : 1))
      .map(({ kind, transactions, inNanos, outNanos }) => ({
        kind,
        transactions,
        in: formatNanos(inNanos),
        out: formatNanos(outNanos),
        net: formatNanos(inNanos - outNanos),
      })),
    models: models
      .toSorted((a, b) => (a.nanos === b.nanos ? (a.model < b.model ? -1 : 1) : a.nanos > b.nanos ? -1 : 1))
      .map(({ model, requests, nanos }) => ({
        model: model === "" ? null : model,
        requests,
        cost: formatNanos(nanos),
      })),
  };
}

function monthOf(month: string): readonly [fromMs: number, toMs: number] {
  const [year, number] = month.split("-").map(Number);
  return [Date.UTC(year ?? 0, (number ?? 1) - 1), Date.UTC(year ?? 0, number ?? 1)];
}

export function walletEntryHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageListWalletEntries: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { limit, cursor, ...input } = readQuery(exchange, EntryQuery);
      const filter = parseEntryFilter(input);
      await context.waitForIngest();
      return { status: 200, json: await entriesView(context, workspace, { limit, cursor: cursor ?? null, filter }) };
    }),
    manageExportWalletEntries: streamed((exchange, sink) => exportEntries(context, exchange, sink)),
    manageShowStatement: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { month } = readQuery(exchange, StatementQuery);
      const [fromMs, toMs] = monthOf(month);
      await context.waitForIngest();
      const sums = await context.store.ledger.statement(workspace.id, { fromMs, toMs });
      return { status: 200, json: statementView(workspace, month, sums) };
    }),
  };
}
