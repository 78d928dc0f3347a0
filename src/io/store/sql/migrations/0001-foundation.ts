import type { Ddl } from "../engine.ts";

/** Tenants, money, the request log and the audit log. */
export function foundation({ integer, text, keyedTable, plainTable, fromJson, appendOnly }: Ddl): string[] {
  return [
    `create table workspaces (
      id ${text} not null primary key,
      slug ${text} not null unique,
      name ${text} not null,
      currency ${text} not null,
      created_at_ms ${integer} not null,
      policy ${text} not null,
      key_policy ${text} not null
    ) ${plainTable}`,
    `create table members (
      id ${text} not null primary key,
      workspace_id ${text} not null references workspaces (id),
      email ${text} not null,
      role ${text} not null,
      created_at_ms ${integer} not null,
      unique (workspace_id, email)
    ) ${plainTable}`,
    // No foreign key on member_id: a personal key outlives its member in the log.
    `create table api_keys (
      id ${text} not null primary key,
      workspace_id ${text} not null references workspaces (id),
      member_id ${text},
      name ${text} not null,
      kind ${text} not null,
      environment ${text} not null,
      digest ${text} not null unique,
      state ${text} not null,
      scopes ${text},
      ip_allowlist ${text},
      expires_at_ms ${integer},
      grace_until_ms ${integer},
      rpm ${integer},
      version ${integer} not null,
      created_at_ms ${integer} not null,
      rotated_from ${text}
    ) ${plainTable}`,
    `create table wallets (
      workspace_id ${text} not null primary key,
      currency ${text} not null,
      balance_nanos ${integer} not null
    ) ${keyedTable}`,
    // A transfer is one row with two accounts, so it is balanced by construction.
    `create table ledger_transactions (
      workspace_id ${text} not null,
      created_at_ms ${integer} not null,
      id ${text} not null,
      kind ${text} not null,
      from_account ${text} not null,
      to_account ${text} not null check (to_account <> from_account),
      currency ${text} not null,
      moved_nanos ${integer} not null check (moved_nanos >= 0),
      note ${text},
      detail ${text},
      primary key (workspace_id, created_at_ms, id)
    ) ${keyedTable}`,
    // A charge has the workspace and time of its request, so its primary key makes it unique. Other transactions may be
    // repeated at another time, so their id alone is unique.
    "create unique index ledger_transactions_by_id on ledger_transactions (id) where kind <> 'charge'",
    `create view ledger_entries as
      select id as transaction_id, 0 as place, from_account as account, workspace_id, created_at_ms, currency,
        -moved_nanos as amount_nanos from ledger_transactions
      union all
      select id as transaction_id, 1 as place, to_account as account, workspace_id, created_at_ms, currency,
        moved_nanos as amount_nanos from ledger_transactions`,
    `create table request_records (
      id ${text} not null primary key,
      workspace_id ${text} not null,
      created_at_ms ${integer} not null,
      record ${text} not null
    ) ${plainTable}`,
    "create index request_records_by_time on request_records (workspace_id, created_at_ms, id)",
    // Filter columns are extracted from the record by a view, so that a request is written as its text only.
    `create view requests as select id, workspace_id, created_at_ms, record,
      ${[
        `${fromJson("record", ["keyId"])} as key_id`,
        `${fromJson("record", ["environment"])} as environment`,
        `${fromJson("record", ["app"])} as app`,
        `${fromJson("record", ["modelRequested"])} as model_requested`,
        `${fromJson("record", ["model"])} as model`,
        `${fromJson("record", ["provider"])} as provider`,
        `cast(${fromJson("record", ["status"])} as ${integer}) as status`,
        `cast(${fromJson("record", ["charge", "nanos"])} as ${integer}) as charge_nanos`,
      ].join(",\n      ")}
      from request_records`,
    `create table requests_daily (
      workspace_id ${text} not null,
      day ${text} not null,
      key_id ${text} not null,
      model ${text} not null,
      provider ${text} not null,
      environment ${text} not null,
      requests ${integer} not null,
      errors ${integer} not null,
      input_tokens ${integer} not null,
      cached_tokens ${integer} not null,
      cache_write_tokens ${integer} not null,
      output_tokens ${integer} not null,
      reasoning_tokens ${integer} not null,
      characters ${integer} not null,
      audio_ms ${integer} not null,
      cost_nanos ${integer} not null,
      primary key (workspace_id, day, key_id, model, provider, environment)
    ) ${keyedTable}`,
    `create table audit_log (
      id ${text} not null primary key,
      at_ms ${integer} not null,
      actor ${text} not null,
      action ${text} not null,
      workspace_id ${text},
      target ${text},
      detail ${text} not null
    ) ${plainTable}`,
    "create index audit_log_by_time on audit_log (at_ms, id)",
    `create table meta (name ${text} not null primary key, value ${text} not null) ${keyedTable}`,
    ...appendOnly("ledger_transactions"),
    ...appendOnly("audit_log"),
  ];
}
