import { type Kysely, sql } from "kysely";
import { fault } from "../../../contract/faults.ts";
import { CHARGE_MAX_NANOS, chargeIdOf } from "../../../domain/billing/charge.ts";
import {
  type ChargedRequest,
  type LedgerEntry,
  type LedgerStore,
  type Transaction,
  type Transfer,
  transferOf,
  type WalletRow,
} from "../../../domain/billing/ledger.ts";
import { formatNanos } from "../../../kit/money.ts";
import { auditChanges } from "./audited-days.ts";
import type { Engine } from "./engine.ts";
import { inTransaction } from "./in-transaction.ts";
import { auditLedger } from "./ledger-audit.ts";
import { balancePage, toTransaction, transactionPage } from "./ledger-pages.ts";
import { queryStatement, sumReturned, sumSpending } from "./ledger-sums.ts";
import type { Database } from "./schema.ts";
import { StoreError } from "./store-error.ts";

type LedgerReads = Pick<Engine, "reads" | "hints"> & { readonly patiently?: Engine["withoutStatementTimeout"] };

/** Lists and sums go to `reads`, and the audit to `patiently`; inside a transaction everything goes to the transaction. */
export function ledgerStore(
  db: Kysely<Database>,
  { reads = db, hints, patiently = (work) => work(reads) }: LedgerReads,
): LedgerStore {
  const source = { reads, hints };
  return {
    async post(transaction) {
      const transfer = transferOf(transaction);
      return inTransaction(db, (session) => postIn(session, transaction, transfer));
    },

    async wallets() {
      const rows = await db.selectFrom("wallets").selectAll().orderBy("workspace_id").execute();
      return rows.map(toWallet);
    },

    async wallet(workspaceId) {
      const row = await db.selectFrom("wallets").selectAll().where("workspace_id", "=", workspaceId).executeTakeFirst();
      return row === undefined ? undefined : toWallet(row);
    },

    async recordReturn(transactionId, { id, workspaceId, createdAtMs }) {
      const values = {
        transaction_id: transactionId,
        workspace_id: workspaceId,
        source_id: id,
        source_created_at_ms: createdAtMs,
      };
      return inTransaction(db, async (session) => {
        await session.insertInto("ledger_returns").values(values).execute();
        return sumReturned(session, workspaceId, id);
      });
    },

    returned: (workspaceId, sourceId, kind) => sumReturned(db, workspaceId, sourceId, kind),

    async returns(workspaceId, sourceId, kind) {
      const rows = await db
        .selectFrom("ledger_returns as given")
        .innerJoin("ledger_transactions as posted", "posted.id", "given.transaction_id")
        .selectAll("posted")
        .where("given.source_id", "=", sourceId)
        .where("given.workspace_id", "=", workspaceId)
        .where("posted.kind", "=", kind)
        // Written like the condition of the partial index on non-charges, so that the planner uses it.
        .where(sql<boolean>`posted.kind <> 'charge'`)
        .execute();
      return rows.map(toTransaction);
    },

    async find(id) {
      const row = await db
        .selectFrom("ledger_transactions")
        .selectAll()
        .where("id", "=", id)
        // Written like the condition of the partial index on non-charges, so that the planner uses it.
        .where(sql<boolean>`kind <> 'charge'`)
        .executeTakeFirst();
      return row === undefined ? undefined : toTransaction(row);
    },

    async findCharge(workspaceId, requestId, { fromMs, toMs }) {
      const row = await db
        .selectFrom("ledger_transactions")
        .selectAll()
        .where("workspace_id", "=", workspaceId)
        .where("created_at_ms", ">=", fromMs)
        .where("created_at_ms", "<", toMs)
        .where("id", "=", chargeIdOf(requestId))
        .executeTakeFirst();
      return row === undefined ? undefined : toTransaction(row);
    },

    chargedRequestIds: (requests) => findCharged(db, requests),
    spent: (...requested) => sumSpending(reads, ...requested),
    statement: (workspaceId, span) => queryStatement(reads, workspaceId, span),

    entries: (...requested) => transactionPage(source, ...requested),
    balances: (...requested) => balancePage(source, ...requested),

    audit: () => patiently(auditLedger),
    auditChanges: () => patiently((session) => auditChanges(session, db)),
  };
}

/** Each takes four of the roughly ten thousand parameters that a statement may have. */
const CHARGES_PER_STATEMENT = 1000;

async function findCharged(db: Kysely<Database>, requests: readonly ChargedRequest[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let at = 0; at < requests.length; at += CHARGES_PER_STATEMENT) {
    const requested = requests.slice(at, at + CHARGES_PER_STATEMENT);
    const keys = requested.map(
      ({ id, workspaceId, createdAtMs }) =>
        sql`(${id}, cast(${workspaceId} as text), cast(${Math.trunc(createdAtMs)} as bigint), ${chargeIdOf(id)})`,
    );
    const { rows } = await sql<{ request_id: string }>`
      with requested (request_id, workspace_id, created_at_ms, id) as (values ${sql.join(keys)})
      select request_id from requested
      where exists (select 1 from ledger_transactions as posted where posted.workspace_id = requested.workspace_id
        and posted.created_at_ms = requested.created_at_ms and posted.id = requested.id)`.execute(db);
    for (const { request_id: id } of rows) found.add(id);
  }
  return found;
}

async function postIn(
  session: Kysely<Database>,
  transaction: Transaction,
  { from, to, currency, nanos }: Transfer,
): Promise<boolean> {
  const { id, kind, workspaceId, createdAtMs, note, detail } = transaction;
  const inserted = await session
    .insertInto("ledger_transactions")
    .values({
      workspace_id: workspaceId,
      created_at_ms: createdAtMs,
      id,
      kind,
      from_account: from,
      to_account: to,
      currency,
      moved_nanos: nanos,
      note,
      detail: detail ? JSON.stringify(detail) : null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (inserted.numInsertedOrUpdatedRows === 0n) return false;
  for (const entry of transaction.entries) if (entry.account === "wallet") await applyToWallet(session, entry);
  return true;
}

/** Wallets change only here and in ingest, always together with their ledger entries. */
async function applyToWallet(session: Kysely<Database>, { workspaceId, currency, nanos }: LedgerEntry): Promise<void> {
  // Debits are always possible.
  const balanceMax = nanos > 0n ? BALANCE_NANOS_MAX - nanos : CHARGE_MAX_NANOS;
  const moved = await session
    .insertInto("wallets")
    .values({ workspace_id: workspaceId, currency, balance_nanos: nanos })
    .onConflict((conflict) =>
      conflict
        .column("workspace_id")
        .doUpdateSet({ balance_nanos: sql`wallets.balance_nanos + excluded.balance_nanos` })
        .whereRef("wallets.currency", "=", "excluded.currency")
        .where("wallets.balance_nanos", "<=", balanceMax),
    )
    .executeTakeFirst();
  if (moved.numInsertedOrUpdatedRows === 0n) throw await walletMoveError(session, workspaceId, currency);
}

/** Far below the 64-bit limit, so that no SQL sum overflows. */
const BALANCE_NANOS_MAX = 2n ** 62n;

async function walletMoveError(session: Kysely<Database>, workspaceId: string, currency: string): Promise<Error> {
  const wallet = await session
    .selectFrom("wallets")
    .select("currency")
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirst();
  if (wallet?.currency !== currency)
    return new StoreError("rejected", `the wallet of ${workspaceId} is not in ${currency}`);
  return fault("conflict", {
    message: `The balance would exceed ${formatNanos(BALANCE_NANOS_MAX)} ${currency}, the maximum of a wallet. Send a smaller amount.`,
    param: "amount",
  });
}

function toWallet(row: Database["wallets"]): WalletRow {
  return { workspaceId: row.workspace_id, currency: row.currency, balanceNanos: row.balance_nanos };
}
