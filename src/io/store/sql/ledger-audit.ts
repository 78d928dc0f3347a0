import { type Kysely, sql } from "kysely";
import { ACCOUNTS } from "../../../domain/billing/ledger.ts";
import { RETURNED_NANOS } from "./ledger-sums.ts";
import { ROLLUP_INVARIANTS, type WorkspaceDays, within } from "./rollup-audit.ts";
import type { Database } from "./schema.ts";

const NANOS_PER_UNIT = 1_000_000_000n;
const NANOS = sql.lit(Number(NANOS_PER_UNIT));

const ROWS_REPORTED_MAX = 20;

/**
 * Checks the invariants of the ledger against the data. Each returned sentence is a violation; violations found before a
 * failing check are still returned.
 */
export async function auditLedger(db: Kysely<Database>): Promise<string[]> {
  const found: string[] = [];
  try {
    for (const check of INVARIANTS) found.push(...(await check(db)));
  } catch (error) {
    if (found.length === 0) throw error;
  }
  return found;
}

/** What concerns few rows however many requests there are. */
export const INVARIANTS_BESIDE_CHARGES = [excessReturns, ordersWithoutPayment, promotionMismatches] as const;

const INVARIANTS = [
  nonZeroSums,
  invalidTransfers,
  duplicateIds,
  walletMismatches,
  requestsWithoutCharge,
  ...INVARIANTS_BESIDE_CHARGES,
  ...ROLLUP_INVARIANTS,
] as const;

/** Units and remainder are summed separately, because the sum of all wallets in nano-units may overflow 64 bits. */
async function nonZeroSums(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ currency: string; units: bigint | string; rest_nanos: bigint | string }>`
    select currency, sum(amount_nanos / ${NANOS}) as units, sum(amount_nanos % ${NANOS}) as rest_nanos
    from ledger_entries group by currency`.execute(db);
  return rows.flatMap(({ currency, units, rest_nanos }) => {
    const nanos = BigInt(units) * NANOS_PER_UNIT + BigInt(rest_nanos);
    return nanos === 0n ? [] : [`all ledger entries in ${currency} sum to ${nanos}, not to zero`];
  });
}

/** A row is balanced by construction, but may not be a valid transfer. Check constraints reject those unless disabled. */
export async function invalidTransfers(db: Kysely<Database>, days?: WorkspaceDays): Promise<string[]> {
  const accounts = sql.join(ACCOUNTS.map((account) => sql.lit(account)));
  const { rows } = await sql<{ id: string; from_account: string; to_account: string; moved_nanos: bigint }>`
    select id, from_account, to_account, moved_nanos from ledger_transactions
    where ${within(days, "ledger_transactions")} and (moved_nanos < 0 or from_account = to_account
      or from_account not in (${accounts}) or to_account not in (${accounts}))
    limit ${sql.lit(ROWS_REPORTED_MAX)}`.execute(db);
  return rows.map(
    (row) => `ledger transaction ${row.id} moves ${row.moved_nanos} from ${row.from_account} to ${row.to_account}`,
  );
}

/** A charge is unique with its time; written at two times, it is in the roll-ups twice as well. */
export async function duplicateIds(db: Kysely<Database>, days?: WorkspaceDays): Promise<string[]> {
  const { rows } = await sql<{ id: string; times: number }>`
    select id, count(*) as times from ledger_transactions
    where ${within(days, "ledger_transactions")} group by id having count(*) > 1 limit ${sql.lit(ROWS_REPORTED_MAX)}`.execute(
    db,
  );
  return rows.map((row) => `ledger transaction ${row.id} was written ${row.times} times`);
}

async function walletMismatches(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ workspace_id: string; balance_nanos: bigint; sum_nanos: bigint }>`
    with sums as (
      select workspace_id, currency, sum(amount_nanos) as sum_nanos from ledger_entries
      where account = 'wallet' group by workspace_id, currency
    )
    select wallets.workspace_id, wallets.balance_nanos, coalesce(sums.sum_nanos, 0) as sum_nanos
    from wallets left join sums on sums.workspace_id = wallets.workspace_id and sums.currency = wallets.currency
    where wallets.balance_nanos <> coalesce(sums.sum_nanos, 0)
    union all
    select sums.workspace_id, 0 as balance_nanos, sums.sum_nanos
    from sums left join wallets on sums.workspace_id = wallets.workspace_id and sums.currency = wallets.currency
    where wallets.workspace_id is null and sums.sum_nanos <> 0
    limit ${sql.lit(ROWS_REPORTED_MAX)}`.execute(db);
  return rows.map(
    (row) =>
      `the wallet of ${row.workspace_id} has ${row.balance_nanos}, but its ledger entries sum to ${row.sum_nanos}`,
  );
}

export async function requestsWithoutCharge(db: Kysely<Database>, days?: WorkspaceDays): Promise<string[]> {
  const { rows } = await sql<{ id: string; charge_nanos: bigint; posted_nanos: bigint | null }>`
    select requests.id, requests.charge_nanos, -posted.moved_nanos as posted_nanos
    from requests left join ledger_transactions as posted
      on posted.workspace_id = requests.workspace_id and posted.created_at_ms = requests.created_at_ms
      and posted.id = 'charge:' || requests.id and posted.from_account = 'wallet'
    where ${within(days, "requests")} and requests.charge_nanos <> 0 and (posted.id is null or posted.moved_nanos <> requests.charge_nanos)
    limit ${sql.lit(ROWS_REPORTED_MAX)}`.execute(db);
  return rows.map(
    (row) => `request ${row.id} cost ${row.charge_nanos}, but the ledger has ${row.posted_nanos ?? "nothing"}`,
  );
}

/** Refunds, reversals and expiries never exceed their source. */
async function excessReturns(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ source_id: string; source_nanos: bigint | null; given_nanos: bigint }>`
    select given.source_id, source.moved_nanos as source_nanos, cast(sum(${RETURNED_NANOS}) as bigint) as given_nanos
    from ledger_returns as given
    join ledger_transactions as posted on posted.id = given.transaction_id and posted.kind <> 'charge'
    left join ledger_transactions as source on source.workspace_id = given.workspace_id
      and source.created_at_ms = given.source_created_at_ms and source.id = given.source_id
    group by given.workspace_id, given.source_id, source.moved_nanos
    having source.moved_nanos is null or sum(${RETURNED_NANOS}) > source.moved_nanos
    limit ${sql.lit(ROWS_REPORTED_MAX)}`.execute(db);
  return rows.map(
    ({ source_id, source_nanos, given_nanos }) =>
      `${given_nanos} of ${source_id} was refunded, but its amount is ${source_nanos ?? "unknown"}`,
  );
}

async function ordersWithoutPayment(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ id: string; amount_nanos: bigint; posted_nanos: bigint | null }>`
    select orders.id, orders.amount_nanos, posted.moved_nanos as posted_nanos
    from payment_orders as orders left join ledger_transactions as posted
      on posted.id = 'payment:' || orders.id and posted.kind <> 'charge'
      and posted.workspace_id = orders.workspace_id and posted.currency = orders.currency
    where (orders.state = 'paid') <> (posted.id is not null)
      or (orders.state = 'paid' and posted.moved_nanos <> orders.amount_nanos)
    limit ${sql.lit(ROWS_REPORTED_MAX)}`.execute(db);
  return rows.map((row) => `order ${row.id} of ${row.amount_nanos} has ${row.posted_nanos ?? "nothing"} in the ledger`);
}

/** Promotional credit and its expired part equal the ledger. */
async function promotionMismatches(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ id: string; amount_nanos: bigint; expired_nanos: bigint; ended_nanos: bigint }>`
    with ended as (
      select given.workspace_id, given.source_id, cast(sum(${RETURNED_NANOS}) as bigint) as ended_nanos
      from ledger_returns as given
      join ledger_transactions as posted on posted.id = given.transaction_id and posted.kind = 'expiry'
      group by given.workspace_id, given.source_id
    )
    select promotions.id, promotions.amount_nanos, promotions.expired_nanos,
      coalesce(ended.ended_nanos, 0) as ended_nanos
    from promotions
    left join ended on ended.workspace_id = promotions.workspace_id and ended.source_id = promotions.id
    left join ledger_transactions as given on given.workspace_id = promotions.workspace_id
      and given.created_at_ms = promotions.granted_at_ms and given.id = promotions.id and given.kind = 'promotion'
    where given.id is null or given.moved_nanos <> promotions.amount_nanos
      or promotions.expired_nanos <> coalesce(ended.ended_nanos, 0)
    limit ${sql.lit(ROWS_REPORTED_MAX)}`.execute(db);
  return rows.map(
    (row) =>
      `promotion ${row.id} of ${row.amount_nanos} has ${row.expired_nanos} expired, but the ledger has ${row.ended_nanos}`,
  );
}
