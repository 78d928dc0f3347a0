import { minNanos } from "../../kit/money.ts";
import type { TimeSpan } from "./ledger.ts";

/**
 * Promotional credit with an expiry date. Charges and downward adjustments use it first, of several the one that expires
 * soonest; paid money is used last. Payouts take paid money only, and refunds return as paid money.
 */
export type Promotion = {
  /** The id of its transaction. */
  readonly id: string;
  readonly workspaceId: string;
  readonly nanos: bigint;
  readonly grantedAtMs: number;
  readonly expiresAtMs: number;
  /** Net amount that has left the wallet since its expiry. */
  readonly expiredNanos: bigint;
  /** Number of expiry transactions. */
  readonly expiryParts: number;
  /** When it was settled; null: it is active, or requests from before its expiry may still be charged. */
  readonly closedAtMs: number | null;
};

export type PromotionStore = {
  add(promotion: Pick<Promotion, "id" | "workspaceId" | "nanos" | "grantedAtMs" | "expiresAtMs">): Promise<void>;
  /** Oldest first. */
  list(workspaceId: string): Promise<Promotion[]>;
  /** Expired and not settled. */
  due(nowMs: number): Promise<Pick<Promotion, "id" | "workspaceId" | "expiresAtMs">[]>;
  /** The next expiry, after a moment, of a promotion that is not settled. */
  nextExpiryMs(afterMs: number): Promise<number | undefined>;
  /** Adds one expiry transaction; a negative amount came back. */
  recordExpiry(id: string, nanos: bigint): Promise<void>;
  close(id: string, atMs: number): Promise<void>;
};

/**
 * Time spans in which the same promotions are active. Within one, the order of spending does not matter, so only its sum is
 * needed. Covers promotions that are not settled, and those that overlap with them.
 */
export function promotionSpans(promotions: readonly Promotion[]): {
  readonly promotions: Promotion[];
  readonly spans: TimeSpan[];
} {
  const relevant = withOverlapping(promotions);
  const edges = new Set(relevant.flatMap(({ grantedAtMs, expiresAtMs }) => [grantedAtMs, expiresAtMs]));
  const sorted = [...edges].toSorted((a, b) => a - b);
  const spans = sorted.slice(1).map((toMs, at) => ({ fromMs: sorted[at] ?? toMs, toMs }));
  return { promotions: relevant, spans };
}

function withOverlapping(promotions: readonly Promotion[]): Promotion[] {
  const relevant = promotions.filter(({ closedAtMs }) => closedAtMs === null);
  const rest = promotions.filter(({ closedAtMs }) => closedAtMs !== null);
  for (let found = true; found; ) {
    const at = rest.findIndex((promotion) => relevant.some((other) => overlap(promotion, other)));
    found = at >= 0;
    if (found) relevant.push(...rest.splice(at, 1));
  }
  return relevant;
}

function overlap(a: Promotion, b: Promotion): boolean {
  return a.grantedAtMs < b.expiresAtMs && b.grantedAtMs < a.expiresAtMs;
}

/** What is left of each promotion at its expiry, or now, by the amount spent in each span. */
export function remainingCredit(
  promotions: readonly Promotion[],
  spans: readonly TimeSpan[],
  spentNanos: readonly bigint[],
): Map<string, bigint> {
  const remaining = new Map(promotions.map(({ id, nanos }) => [id, nanos]));
  const soonestFirst = promotions.toSorted(
    (a, b) => a.expiresAtMs - b.expiresAtMs || a.grantedAtMs - b.grantedAtMs || (a.id < b.id ? -1 : 1),
  );
  for (const [at, { fromMs }] of spans.entries()) {
    let nanos = spentNanos[at] ?? 0n;
    for (const { id, grantedAtMs, expiresAtMs } of soonestFirst) {
      if (grantedAtMs > fromMs || expiresAtMs <= fromMs) continue;
      const available = remaining.get(id) ?? 0n;
      const used = minNanos(nanos, available);
      remaining.set(id, available - used);
      nanos -= used;
    }
  }
  return remaining;
}
