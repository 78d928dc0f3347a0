import type { Ddl } from "../engine.ts";

/** Charged calls by the digest of their `Idempotency-Key`. */
export function idempotency({ integer, text, keyedTable }: Ddl): string[] {
  return [
    `create table idempotency_keys (
      key_digest ${text} not null primary key,
      body_digest ${text} not null,
      workspace_id ${text} not null,
      request_id ${text} not null,
      status ${integer} not null,
      charged_nanos ${integer} not null,
      currency ${text} not null,
      expires_at_ms ${integer} not null
    ) ${keyedTable}`,
    "create index idempotency_keys_by_expiry on idempotency_keys (expires_at_ms)",
  ];
}
