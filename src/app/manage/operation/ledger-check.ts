import type { LedgerStore } from "../../../domain/billing/ledger.ts";
import { StoreError } from "../../../io/store/sql/store-error.ts";
import type { Clock } from "../../../kit/clock.ts";
import { cancelTimer, type Timers } from "../../../kit/timers.ts";
import type { Check, CheckResult } from "../deps.ts";
import { isoTime } from "../views.ts";

/** Shorter than the client's timeout. */
const WAIT_MS = 50_000;

const NAMED_MAX = 10;

type LedgerAudit = Pick<LedgerStore, "audit" | "auditChanges">;
type LedgerCheckDeps = {
  readonly store: { readonly ledger: LedgerAudit };
  readonly clock: Clock;
  readonly timers: Timers;
};
type RunningAudit = { readonly startedAt: string; readonly result: Promise<CheckResult> };

export type LedgerScope = "changes" | "full";

/**
 * Checks that the ledger balances: what changed since the last check, or every row. A process runs one audit of a scope at a
 * time; an audit that outlasts the response continues, and the next request gets its result.
 */
export function ledgerCheck({ store, clock, timers }: LedgerCheckDeps): (scope: LedgerScope) => Check {
  const current = new Map<LedgerScope, RunningAudit>();
  return (scope) => ({
    name: "ledger",
    async run() {
      const earlier = current.get(scope);
      const running = earlier ?? { startedAt: isoTime(clock.nowMs()), result: auditLedger(store.ledger, scope) };
      current.set(scope, running);
      const result = await withTimeout(running.result, timers);
      if (result === "late")
        return {
          ok: false,
          detail: `unfinished: the ledger is large and being checked since ${running.startedAt}; run the check again later`,
        };
      if (current.get(scope) === running) current.delete(scope);
      return earlier === undefined ? result : { ...result, detail: `${result.detail} (as of ${running.startedAt})` };
    },
  });
}

async function auditLedger(books: LedgerAudit, scope: LedgerScope): Promise<CheckResult> {
  try {
    const broken = await (scope === "full" ? books.audit() : books.auditChanges());
    if (broken.length > 0) return { ok: false, detail: broken.slice(0, NAMED_MAX).join("; ") };
    const extent = scope === "full" ? "every row was read" : "days unchanged since an earlier check were not read";
    return { ok: true, detail: `the ledger balances; ${extent}` };
  } catch (error) {
    const words = error instanceof Error ? error.message : "the check failed";
    if (error instanceof StoreError && error.reason === "statement_timeout")
      return { ok: false, detail: `unfinished: the check was stopped, nothing broken so far: ${words}` };
    return { ok: false, detail: words };
  }
}

async function withTimeout(result: Promise<CheckResult>, timers: Timers): Promise<CheckResult | "late"> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = timers.after(WAIT_MS, () => resolve("late"));
  const first = await Promise.race([result, late]);
  cancelTimer(timer);
  return first;
}
