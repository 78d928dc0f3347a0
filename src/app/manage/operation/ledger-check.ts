import type { LedgerStore } from "../../../domain/billing/ledger.ts";
import { StoreError } from "../../../io/store/sql/store-error.ts";
import type { Clock } from "../../../kit/clock.ts";
import { cancelTimer, type Timers } from "../../../kit/timers.ts";
import type { Check, CheckResult } from "../deps.ts";
import { isoTime } from "../views.ts";

/** Less than whoever asks waits for an answer. */
const WAIT_MS = 50_000;

const NAMED_MAX = 10;

type LedgerAudit = Pick<LedgerStore, "audit">;
type LedgerCheckDeps = {
  readonly store: { readonly ledger: LedgerAudit };
  readonly clock: Clock;
  readonly timers: Timers;
};
type RunningAudit = { readonly startedAt: string; readonly result: Promise<CheckResult> };

/**
 * Whether the books balance. Every row of them is read for that, so a process has one proof at a time, whoever asks it;
 * others have their own. One that takes longer than an answer may goes on, and what came of it is told to who asks next.
 */
export function ledgerCheck({ store, clock, timers }: LedgerCheckDeps): Check {
  let proof: RunningAudit | undefined;
  return {
    name: "ledger",
    async run() {
      const earlier = proof;
      const asked = earlier ?? { startedAt: isoTime(clock.nowMs()), result: auditLedger(store.ledger) };
      proof = asked;
      const result = await withTimeout(asked.result, timers);
      if (result === "late")
        return { ok: true, detail: `not known yet, the books are large: checked since ${asked.startedAt}, ask again` };
      if (proof === asked) proof = undefined;
      return earlier === undefined ? result : { ...result, detail: `${result.detail} (as of ${asked.startedAt})` };
    },
  };
}

async function auditLedger(books: LedgerAudit): Promise<CheckResult> {
  try {
    const broken = await books.audit();
    if (broken.length === 0) return { ok: true, detail: "the books balance" };
    return { ok: false, detail: broken.slice(0, NAMED_MAX).join("; ") };
  } catch (error) {
    const words = error instanceof Error ? error.message : "the check failed";
    // That says how large the books are, and nothing of what is in them.
    if (error instanceof StoreError && error.end === "cut off")
      return { ok: true, detail: `not checked to the end, nothing broken was found until then: ${words}` };
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
