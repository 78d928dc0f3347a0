import type { Ddl } from "../engine.ts";

const NAME = "ledger_transactions_by_kind";
const ON = "ledger_transactions (workspace_id, kind, created_at_ms, id) where kind <> 'charge'";

/** Lists of one kind: top-ups and refunds are few among very many charges. */
export function ledgerByKind(): string[] {
  return [`create index if not exists ${NAME} on ${ON}`];
}

export function indexByKind({ indexAhead }: Ddl): string[] {
  return [...indexAhead(NAME, ON)];
}
