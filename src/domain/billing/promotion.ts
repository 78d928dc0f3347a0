import { minNanos } from "../../kit/money.ts";
import type { TimeSpan } from "./ledger.ts";

/**
 * Credit that is given away and ends at a date. What requests cost, and what is corrected downwards, is taken from such
 * credit first, and of several from the one that ends soonest; money that was paid in is touched last. What goes back to
 * a payer is paid money and leaves promotions alone; what is refunded comes back as paid money.
 */
export type Promotion = {
  /** The id of its transaction. */
  readonly id: string;
  readonly workspaceId: string;
  readonly nanos: bigint;
  readonly grantedAtMs: number;
  /** From this moment on it does not count any more. */
  readonly expiresAtMs: number;
  /** What has left the wallet since its date, without what came back. */
  readonly expiredNanos: bigint;
  /** In how many transactions. */
  readonly expiryParts: number;
  /** When it was settled for good; null: it still runs, or requests of its time may. */
  readonly closedAtMs: number | null;
};

export type PromotionStore = {
  add(promotion: Pick<Promotion, "id" | "workspaceId" | "nanos" | "grantedAtMs" | "expiresAtMs">): Promise<void>;
  /** Oldest first. */
  list(workspaceId: string): Promise<Promotion[]>;
  /** Credit whose date has come and that is not settled. */
  due(nowMs: number): Promise<Pick<Promotion, "id" | "workspaceId" | "expiresAtMs">[]>;
  /** The next date of any credit that is not settled and whose date is later than this. */
  nextExpiryMs(afterMs: number): Promise<number | undefined>;
  /** Counts what left the wallet, or came back when below zero; one part after the other. */
  recordExpiry(id: string, nanos: bigint): Promise<void>;
  close(id: string, atMs: number): Promise<void>;
};

/**
 * Stretches of time in which the same promotions run. Within one of them it does not matter in which order money was
 * spent, so its sum is all that must be known. Only what can still matter is looked at: promotions that are not settled,
 * and those that ran beside them.
 */
export function promotionSpans(promotions: readonly Promotion[]): {
  readonly together: Promotion[];
  readonly spans: TimeSpan[];
} {
  const together = withOverlapping(promotions);
  const edges = new Set(together.flatMap(({ grantedAtMs, expiresAtMs }) => [grantedAtMs, expiresAtMs]));
  const sorted = [...edges].toSorted((a, b) => a - b);
  const spans = sorted.slice(1).map((toMs, at) => ({ fromMs: sorted[at] ?? toMs, toMs }));
  return { together, spans };
}

function withOverlapping(promotions: readonly Promotion[]): Promotion[] {
  const taken = promotions.filter(({ closedAtMs }) => closedAtMs === null);
  const rest = promotions.filter(({ closedAtMs }) => closedAtMs !== null);
  for (let found = true; found; ) {
    const at = rest.findIndex((one) => taken.some((other) => overlap(one, other)));
    found = at >= 0;
    if (found) taken.push(...rest.splice(at, 1));
  }
  return taken;
}

function overlap(one: Promotion, other: Promotion): boolean {
  return one.grantedAtMs < other.expiresAtMs && other.grantedAtMs < one.expiresAtMs;
}

/** What is left of each promotion at its date, or now, by what was spent in each span. */
export function remainingCredit(
  together: readonly Promotion[],
  spans: readonly TimeSpan[],
  spentNanos: readonly bigint[],
): Map<string, bigint> {
  const left = new Map(together.map(({ id, nanos }) => [id, nanos]));
  const soonestFirst = together.toSorted(
    (a, b) => a.expiresAtMs - b.expiresAtMs || a.grantedAtMs - b.grantedAtMs || (a.id < b.id ? -1 : 1),
  );
  for (const [at, { fromMs }] of spans.entries()) {
    let nanos = spentNanos[at] ?? 0n;
    for (const { id, grantedAtMs, expiresAtMs } of soonestFirst) {
      if (grantedAtMs > fromMs || expiresAtMs <= fromMs) continue;
      const had = left.get(id) ?? 0n;
      const used = minNanos(nanos, had);
      left.set(id, had - used);
      nanos -= used;
    }
  }
  return left;
}
