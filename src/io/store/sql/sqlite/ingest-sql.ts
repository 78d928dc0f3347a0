import { CHARGE } from "../../../../domain/billing/ledger.ts";
import type { IngestFields } from "../../../../domain/record/ingest-fields.ts";
import type { ChargeRecord } from "../../../../domain/record/record.ts";
import { USAGE_COLUMNS } from "../usage-columns.ts";
import { MERGE_SKETCHES } from "./open-database-file.ts";

const placeholders = (count: number) => `(${Array(count).fill("?").join(", ")})`;

function insertSql(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns.join(", ")}) values ${placeholders(columns.length)}`;
}

function accumulateSql(table: string, keys: readonly string[], sketches: readonly "sketches"[] = []): string {
  return `${insertSql(table, [...keys, ...USAGE_COLUMNS, ...sketches])} on conflict do update
   set ${[
     ...USAGE_COLUMNS.map((column) => `${column} = ${column} + excluded.${column}`),
     ...sketches.map((column) => `${column} = ${MERGE_SKETCHES}(${column}, excluded.${column})`),
   ].join(", ")}`;
}

const DAILY_KEYS = ["workspace_id", "day", "key_id", "model", "provider", "environment"] as const;
const HOURLY_KEYS = ["workspace_id", "hour_ms", "shape"] as const;
const SHAPE_COLUMNS = [
  ...(["workspace_id", "id", "key_id", "member_id", "environment", "app"] as const),
  ...(["model_requested", "model", "provider", "status", "surface", "level", "country"] as const),
  ...(["endpoint", "error_code", "router", "data_classes", "data_action"] as const),
] as const;
const IDEMPOTENCY_COLUMNS = [
  ...(["key_digest", "body_digest", "workspace_id", "request_id"] as const),
  ...(["status", "charged_nanos", "currency", "expires_at_ms"] as const),
] as const;

/** A finished request; `charge` is null unless it is more than zero. */
export type IngestRow = {
  readonly record: IngestFields;
  readonly charge: ChargeRecord | null;
  readonly nanos: bigint;
  readonly shape: number;
  readonly text: Buffer;
};

export type RowTemplate = { readonly table: string; readonly columns: string; readonly values: string };

export const REQUEST_ROW: RowTemplate = {
  table: "request_records",
  columns: "id, workspace_id, created_at_ms, record, shape",
  values: "(?, ?, ?, cast(? as text), ?)",
};

// A transfer has one amount, so it cannot be out of balance. Values that every charge shares are part of the statement.
export const CHARGE_ROW: RowTemplate = {
  table: "ledger_transactions",
  columns: "workspace_id, created_at_ms, id, kind, from_account, to_account, currency, moved_nanos, note, detail",
  values: `(?, ?, ?, 'charge', '${CHARGE.from}', '${CHARGE.to}', ?, ?, null, ?)`,
};

export function insertUnlessStored({ table, columns, values }: RowTemplate): string {
  return `insert into ${table} (${columns}) values ${values} on conflict do nothing`;
}

/** A duplicate rolls the transaction back. */
export function insertNewRows({ table, columns, values }: RowTemplate, rows: number): string {
  return `insert or rollback into ${table} (${columns}) values ${Array(rows).fill(values).join(", ")}`;
}

export const REMOVE_REQUEST = "delete from request_records where id = ? returning record, shape";

export const ADD_SHAPE = `${insertSql("request_shapes", SHAPE_COLUMNS)} on conflict do nothing`;

export const MOVE_WALLET = `${insertSql("wallets", ["workspace_id", "currency", "balance_nanos"])} on conflict do update
     set balance_nanos = balance_nanos + excluded.balance_nanos where currency = excluded.currency`;

// An expired key may still be stored and is overwritten; a record that is sent again changes nothing.
export const ADD_IDEMPOTENCY_USE = `${insertSql("idempotency_keys", IDEMPOTENCY_COLUMNS)} on conflict do update
     set body_digest = excluded.body_digest, request_id = excluded.request_id, status = excluded.status,
       charged_nanos = excluded.charged_nanos, currency = excluded.currency, expires_at_ms = excluded.expires_at_ms
     where excluded.expires_at_ms > expires_at_ms`;

export const ADD_DAILY = accumulateSql("requests_daily", DAILY_KEYS);
export const ADD_HOURLY = accumulateSql("requests_hourly", HOURLY_KEYS, ["sketches"]);
