import { type Kysely, sql } from "kysely";
import { DAY_MS } from "../../../kit/time.ts";
import { duplicateIds, INVARIANTS_BESIDE_CHARGES, invalidTransfers, requestsWithoutCharge } from "./ledger-audit.ts";
import { chargedFreeRows, compareDays, type DaySums, uncountedRows, type WorkspaceDays } from "./rollup-audit.ts";
import type { Database } from "./schema.ts";
import { USAGE_COLUMNS } from "./usage-columns.ts";

/** Days per page: a page of sums keeps the event loop for a few milliseconds. */
const DAYS_PER_PAGE = 1_000;
/** Days of one workspace are verified together up to this many requests, so that a statement takes tens of milliseconds. */
const REQUESTS_PER_SLICE = 20_000;
const WALLETS_PER_PAGE = 500;
const VIOLATIONS_MAX = 20;

type AuditedDay = Database["audited_days"];
type DayKey = Pick<AuditedDay, "workspace_id" | "day">;
type Slice = WorkspaceDays & { readonly requests: number };

/**
 * The audit of what changed since the last one. A day is in order when its roll-ups, charges and log rows agree; it is then
 * remembered with its sums, and verified again when `requests_daily` has others, because a request that arrived late changes
 * them in the transaction that writes it. Wallets, also lost ones, are compared with all days and all other entries each time.
 * What was verified before and changed behind the store's back is found by `auditLedger`.
 */
export async function auditChanges(reads: Kysely<Database>, db: Kysely<Database>): Promise<string[]> {
  const found: string[] = [];
  for (const check of [...INVARIANTS_BESIDE_CHARGES, walletMismatches, lostWallets])
    found.push(...(await check(reads)));
  for await (const slice of pendingSlices(reads)) {
    found.push(...(await verifySlice(reads, db, slice)));
    if (found.length >= VIOLATIONS_MAX) return found.slice(0, VIOLATIONS_MAX);
  }
  return found.slice(0, VIOLATIONS_MAX);
}

/** What no audit has found to be in order yet, as few days of one workspace at a time. */
async function* pendingSlices(reads: Kysely<Database>): AsyncGenerator<Slice> {
  for (let after: DayKey | undefined = { workspace_id: "", day: "" }; after !== undefined; ) {
    const { pending, next }: DayPage = await nextPage(reads, after);
    yield* slicesOf(pending);
    after = next;
  }
}

/** `followsPending`: since the last day with requests, which is pending too. */
type PendingDay = DayKey & { readonly requests: number; readonly followsPending: boolean };
type DayPage = { readonly pending: readonly PendingDay[]; readonly next: DayKey | undefined };

async function nextPage(reads: Kysely<Database>, after: DayKey): Promise<DayPage> {
  const { rows: current } = await sql<AuditedDay>`
    select workspace_id, day, ${SIGNATURE} from requests_daily
    where (workspace_id, day) > (${after.workspace_id}, ${after.day})
    group by workspace_id, day order by workspace_id, day limit ${sql.lit(DAYS_PER_PAGE)}`.execute(reads);
  const last = current.length < DAYS_PER_PAGE ? undefined : current.at(-1);
  const { rows: audited } = await sql<AuditedDay>`
    select * from audited_days where (workspace_id, day) > (${after.workspace_id}, ${after.day})
    ${last === undefined ? sql`` : sql`and (workspace_id, day) <= (${last.workspace_id}, ${last.day})`}`.execute(reads);
  const verified = new Map(audited.map((row) => [keyOf(row), row]));
  const pending: PendingDay[] = [];
  let followsPending = false;
  for (const row of current) {
    const before = verified.get(keyOf(row));
    verified.delete(keyOf(row));
    const isPending = before === undefined || signatureOf(before) !== signatureOf(row);
    if (isPending) pending.push({ ...row, followsPending });
    followsPending = isPending;
  }
  // Verified once, and in the roll-ups no more.
  for (const { workspace_id, day } of verified.values())
    pending.push({ workspace_id, day, requests: 0, followsPending: false });
  return { pending, next: last };
}

const OTHER_COLUMNS = USAGE_COLUMNS.filter((name) => name !== "requests" && name !== "cost_nanos");

/** PostgreSQL widens sums of bigint to numeric, so the type is explicit. */
const SIGNATURE = sql`cast(sum(requests) as bigint) as requests, cast(sum(cost_nanos) as bigint) as cost_nanos,
  cast(sum(${sql.join(
    OTHER_COLUMNS.map((name) => sql.ref(name)),
    sql` + `,
  )}) as bigint) as other_sums`;

const keyOf = ({ workspace_id, day }: DayKey) => `${workspace_id} ${day}`;
const signatureOf = ({ requests, cost_nanos, other_sums }: AuditedDay) => `${requests} ${cost_nanos} ${other_sums}`;

function slicesOf(pending: readonly PendingDay[]): Slice[] {
  const slices: Slice[] = [];
  for (const { workspace_id: workspaceId, day, requests, followsPending } of pending) {
    const fromMs = Date.parse(day);
    const toMs = fromMs + DAY_MS;
    const last = slices.at(-1);
    const joins = followsPending && last?.workspaceId === workspaceId && last.requests + requests <= REQUESTS_PER_SLICE;
    if (joins) slices[slices.length - 1] = { ...last, toMs, requests: last.requests + requests };
    else slices.push({ workspaceId, fromMs, toMs, requests });
  }
  return slices;
}

async function verifySlice(reads: Kysely<Database>, db: Kysely<Database>, slice: Slice): Promise<string[]> {
  const { violations, daily } = await compareDays(reads, slice);
  const found = [...violations];
  const checks = [
    uncountedRows,
    requestsWithoutCharge,
    chargedFreeRows,
    invalidTransfers,
    duplicateIds,
    foreignCharges,
  ];
  for (const check of checks) found.push(...(await check(reads, slice)));
  if (found.length === 0) await remember(db, slice, daily);
  return found;
}

/** In place of what was remembered of these days. */
async function remember(db: Kysely<Database>, slice: Slice, daily: readonly DaySums[]): Promise<void> {
  const dayText = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const values = daily.map((sums) => ({
    workspace_id: slice.workspaceId,
    day: dayText(sums.day_ms),
    requests: Number(sums.requests),
    cost_nanos: BigInt(sums.cost_nanos),
    other_sums: OTHER_COLUMNS.reduce((sum, name) => sum + BigInt(sums[name]), 0n),
  }));
  await db.transaction().execute(async (session) => {
    await session
      .deleteFrom("audited_days")
      .where("workspace_id", "=", slice.workspaceId)
      .where("day", ">=", dayText(slice.fromMs))
      .where("day", "<=", dayText(slice.toMs - 1))
      .execute();
    if (values.length > 0)
      await session
        .insertInto("audited_days")
        .values(values)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
  });
}

/** Wallets have one currency, and the comparison with the roll-ups does not see it. */
async function foreignCharges(
  reads: Kysely<Database>,
  { workspaceId, fromMs, toMs }: WorkspaceDays,
): Promise<string[]> {
  const { rows } = await sql<{ id: string; currency: string }>`
    select posted.id, posted.currency from ledger_transactions as posted
    left join wallets on wallets.workspace_id = posted.workspace_id
    where posted.workspace_id = ${workspaceId} and posted.created_at_ms >= ${fromMs} and posted.created_at_ms < ${toMs}
      and posted.kind = 'charge' and (wallets.currency is null or wallets.currency <> posted.currency)
    limit ${sql.lit(VIOLATIONS_MAX)}`.execute(reads);
  return rows.map(
    ({ id, currency }) => `ledger transaction ${id} is in ${currency}, which ${workspaceId} has no wallet in`,
  );
}

/** Each page in one statement, so that a concurrent change is in the wallet and in the sums, or in neither. */
async function walletMismatches(reads: Kysely<Database>): Promise<string[]> {
  const found: string[] = [];
  for (let after: string | undefined = ""; after !== undefined; ) {
    const { rows }: { rows: WalletSums[] } = await sql<WalletSums>`
      with page as (
        select workspace_id, currency, balance_nanos from wallets where workspace_id > ${after}
        order by workspace_id limit ${sql.lit(WALLETS_PER_PAGE)}
      )
      select page.workspace_id, page.balance_nanos,
        coalesce((select sum(cost_nanos) from requests_daily where requests_daily.workspace_id = page.workspace_id), 0)
          as charged_nanos,
        coalesce((
          select sum(case when to_account = 'wallet' then moved_nanos else -moved_nanos end) from ledger_transactions
          where ledger_transactions.workspace_id = page.workspace_id and kind <> 'charge'
            and ledger_transactions.currency = page.currency and 'wallet' in (from_account, to_account)
        ), 0) as posted_nanos
      from page order by page.workspace_id`.execute(reads);
    for (const { workspace_id: id, balance_nanos: balance, charged_nanos, posted_nanos } of rows) {
      const expected = BigInt(posted_nanos) - BigInt(charged_nanos);
      if (balance !== expected)
        found.push(`the wallet of ${id} has ${balance}, but its ledger entries sum to ${expected}`);
    }
    after = rows.length < WALLETS_PER_PAGE ? undefined : rows.at(-1)?.workspace_id;
  }
  return found;
}

/** What remains of a wallet whose row is missing. */
async function lostWallets(reads: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ workspace_id: string; nanos: bigint | string }>`
    select workspace_id, sum(nanos) as nanos from (
      select workspace_id, -cost_nanos as nanos from requests_daily
      union all
      select workspace_id, case when to_account = 'wallet' then moved_nanos else -moved_nanos end
      from ledger_transactions where kind <> 'charge' and 'wallet' in (from_account, to_account)
    ) as moved
    where not exists (select 1 from wallets where wallets.workspace_id = moved.workspace_id)
    group by workspace_id having sum(nanos) <> 0 limit ${sql.lit(VIOLATIONS_MAX)}`.execute(reads);
  return rows.map(({ workspace_id: id, nanos }) => `${id} has no wallet, but its ledger entries sum to ${nanos}`);
}

type WalletSums = {
  workspace_id: string;
  balance_nanos: bigint;
  charged_nanos: bigint | string;
  posted_nanos: bigint | string;
};
