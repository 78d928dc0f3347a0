import type { DailySpend, SpenderRef } from "../../../domain/admission/shared-state.ts";
import type { RollupStore } from "../../../domain/record/usage-sums.ts";
import type { Directory } from "../../../domain/tenancy/directory.ts";
import { dayName, spanOf } from "../../../kit/calendar.ts";
import { formatNanos } from "../../../kit/money.ts";
import { pluralize } from "../../../kit/pluralize.ts";
import type { Check, CheckResult, TenancyDeps } from "../deps.ts";
import { recentSpend } from "../money/spend-history.ts";

/** Amounts by a display name. */
type AmountsByName = ReadonlyMap<string, bigint>;

const COMPARISONS_MAX = 4;
const NAMED_MAX = 10;

type LiveCheckDeps = Pick<TenancyDeps, "state" | "directory" | "clock"> & {
  readonly store: Pick<TenancyDeps["store"], "ledger"> & { readonly rollups: Pick<RollupStore, "spendSince"> };
  waitForIngest(): Promise<void>;
};

/** Compares the live state that requests are admitted by with SQL. */
export function liveChecks(deps: LiveCheckDeps): Check[] {
  return [
    {
      name: "wallets",
      run: () => compare(deps, "wallet", { live: () => liveBalances(deps), stored: () => storedBalances(deps) }),
    },
    {
      name: "limits",
      run: () => {
        // One time for both sources, in case midnight passes between the reads.
        const nowMs = deps.clock.nowMs();
        const stored = async () => {
          const spends = await recentSpend(deps.store.rollups, deps.directory, nowMs);
          return storedSpending(spends, nowMs);
        };
        return compare(deps, "spend counter", { live: () => liveSpending(deps, nowMs), stored });
      },
    },
  ];
}

/** The journal of a killed instance contains charges that the live state has and SQL lacks. */
const ADVICE =
  "If an instance was killed, start it again with its DATA_DIR: its journal has the missing records. Otherwise restart the gateway to reload from the ledger; with several instances, stop all of them, empty Redis, and start them.";

type ComparedSources = { live(): Promise<AmountsByName>; stored(): Promise<AmountsByName> };

/**
 * Requests end during the comparison. An amount that is the same before and after the SQL read, with the journal ingested,
 * must equal SQL. A difference is compared again, because a change may be on its way from SQL to memory.
 */
async function compare(deps: LiveCheckDeps, what: string, { live, stored }: ComparedSources): Promise<CheckResult> {
  let open: readonly string[] = [];
  let wrong: readonly string[] = [];
  let count = 0;
  for (let round = 0; round < COMPARISONS_MAX; round += 1) {
    const before = await live();
    await deps.waitForIngest();
    const expectedAmounts = await stored();
    const after = await live();
    count = after.size;
    open = [...after.keys()].filter((name) => before.get(name) !== after.get(name));
    wrong = [...after].flatMap(([name, nanos]) => {
      const expected = expectedAmounts.get(name) ?? 0n;
      if (nanos === expected || before.get(name) !== nanos) return [];
      return [`${name} is ${formatNanos(nanos)} in memory but ${formatNanos(expected)} in the ledger`];
    });
    if (open.length === 0 && wrong.length === 0)
      return { ok: true, detail: `${pluralize(count, what)} compared with the ledger, no differences` };
  }
  if (wrong.length > 0)
    return {
      ok: false,
      detail: `${wrong.slice(0, NAMED_MAX).join("; ")}. ${ADVICE}`,
    };
  return {
    ok: true,
    // What was not compared is not known to be in order.
    warning: true,
    detail: `${pluralize(count - open.length, what)} compared with the ledger, no differences; ${open.length} not compared because they kept changing`,
  };
}

const walletName = (slug: string) => `the wallet of ${slug}`;

async function liveBalances({ directory, state }: LiveCheckDeps): Promise<AmountsByName> {
  const figures = new Map<string, bigint>();
  for (const { id, slug } of directory.workspaces())
    figures.set(walletName(slug), (await state.wallet(id)).balanceNanos);
  return figures;
}

async function storedBalances({ directory, store }: LiveCheckDeps): Promise<AmountsByName> {
  const wallets = await store.ledger.wallets();
  return new Map(
    wallets.map(({ workspaceId, balanceNanos }) => [
      walletName(directory.workspace(workspaceId)?.slug ?? workspaceId),
      balanceNanos,
    ]),
  );
}

/** All spenders, including those without a limit: one can be set at any time. */
function spendersOf(directory: Directory): SpenderRef[] {
  const spenders = new Map<string, SpenderRef>();
  for (const { id: workspaceId } of directory.workspaces()) {
    const add = (id: string) => spenders.set(id, { id, workspaceId });
    add(workspaceId);
    for (const member of directory.members(workspaceId)) add(member.id);
    for (const key of directory.keys(workspaceId)) add(directory.rotationRootOf(key.id));
  }
  return [...spenders.values()];
}

const spentName = (unit: "day" | "month", spenderId: string, nowMs: number) =>
  `spend of ${spenderId} in the ${unit} of ${dayName(spanOf("day", nowMs).firstDay)}`;

async function liveSpending({ directory, state }: LiveCheckDeps, nowMs: number): Promise<AmountsByName> {
  const figures = new Map<string, bigint>();
  for (const spender of spendersOf(directory)) {
    const { day, month } = await state.spending(spender, nowMs);
    figures.set(spentName("day", spender.id, nowMs), day.spentNanos);
    figures.set(spentName("month", spender.id, nowMs), month.spentNanos);
  }
  return figures;
}

function storedSpending(spends: readonly DailySpend[], nowMs: number): AmountsByName {
  const figures = new Map<string, bigint>();
  for (const unit of ["day", "month"] as const) {
    const { firstDay, endDay } = spanOf(unit, nowMs);
    const [first, end] = [dayName(firstDay), dayName(endDay)];
    for (const { workspaceId, keyId, memberId, day, nanos } of spends) {
      if (day < first || day >= end) continue;
      for (const id of [workspaceId, keyId, ...(memberId === null ? [] : [memberId])]) {
        const name = spentName(unit, id, nowMs);
        figures.set(name, (figures.get(name) ?? 0n) + nanos);
      }
    }
  }
  return figures;
}
