import type { Ddl } from "../engine.ts";

/** Payment orders, expiring credit, and links from returns to their source. */
export function payments({ integer, text, plainTable, appendOnly }: Ddl): string[] {
  return [
    `create table payment_orders (
      id ${text} not null primary key,
      workspace_id ${text} not null,
      adapter ${text} not null,
      reference ${text} not null,
      currency ${text} not null,
      amount_nanos ${integer} not null check (amount_nanos > 0),
      state ${text} not null,
      created_at_ms ${integer} not null,
      paid_at_ms ${integer},
      payment_id ${text},
      unique (workspace_id, reference)
    ) ${plainTable}`,
    "create index payment_orders_by_time on payment_orders (workspace_id, created_at_ms, id)",
    "create unique index payment_orders_by_payment on payment_orders (adapter, payment_id) where payment_id is not null",
    // The money is in the ledger; this table drives the expiry.
    `create table promotions (
      id ${text} not null primary key,
      workspace_id ${text} not null,
      amount_nanos ${integer} not null check (amount_nanos > 0),
      granted_at_ms ${integer} not null,
      expires_at_ms ${integer} not null check (expires_at_ms > granted_at_ms),
      expired_nanos ${integer} not null check (expired_nanos >= 0 and expired_nanos <= amount_nanos),
      expiry_parts ${integer} not null,
      closed_at_ms ${integer}
    ) ${plainTable}`,
    "create index promotions_by_workspace on promotions (workspace_id, granted_at_ms)",
    "create index promotions_open on promotions (expires_at_ms) where closed_at_ms is null",
    // References the three-column primary key of the ledger.
    `create table ledger_returns (
      transaction_id ${text} not null primary key,
      workspace_id ${text} not null,
      source_id ${text} not null,
      source_created_at_ms ${integer} not null
    ) ${plainTable}`,
    "create index ledger_returns_by_source on ledger_returns (source_id, workspace_id)",
    ...appendOnly("ledger_returns"),
  ];
}
