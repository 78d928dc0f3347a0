import type { Ddl } from "../engine.ts";

const NAME = "ledger_transactions_beside_charges";
const ON = `ledger_transactions
  (workspace_id, created_at_ms, kind, from_account, to_account, moved_nanos) where kind <> 'charge'`;

/** A covering partial index on non-charges, which are few among very many charges. */
export function ledgerBesideCharges(): string[] {
  return [`create index if not exists ${NAME} on ${ON}`];
}

export function indexBesideCharges({ indexAhead }: Ddl): string[] {
  return [...indexAhead(NAME, ON)];
}
