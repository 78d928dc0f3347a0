import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  adjustmentOf,
  payoutOf,
  refundOf,
  type Transaction,
  topupOf,
  walletNanosOf,
} from "../../src/domain/billing/ledger.ts";
import type { RequestRecord } from "../../src/domain/record/record.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { DAY_MS } from "../../src/kit/time.ts";
import { chargedRecord } from "./records.ts";

const BEGIN = Date.UTC(2026, 9, 29);
const DAYS = 6;

/** Any moment, and more often than by chance the boundary of a day. */
const moment = fc
  .record({
    day: fc.integer({ min: 0, max: DAYS }),
    ms: fc.oneof(fc.constantFrom(-1, 0, 1), fc.integer({ min: 0, max: DAY_MS - 1 })),
  })
  .map(({ day, ms }) => BEGIN + day * DAY_MS + ms);

const POSTED = {
  topup: topupOf,
  refund: refundOf,
  payout: payoutOf,
  up: adjustmentOf.bind(null, "up"),
  down: adjustmentOf.bind(null, "down"),
} as const;

const history = fc.record({
  charges: fc.array(
    fc.record({
      atMs: moment,
      nanos: fc.bigInt(0n, 1000n),
      interrupted: fc.constantFrom("never", "never", "before", "in the same batch"),
    }),
    { minLength: 5, maxLength: 40 },
  ),
  others: fc.array(
    fc.record({
      atMs: moment,
      nanos: fc.bigInt(0n, 1000n),
      is: fc.constantFrom("topup", "refund", "payout", "up", "down"),
    }),
    { maxLength: 10 },
  ),
  ranges: fc.array(fc.tuple(moment, moment), { minLength: 5, maxLength: 8 }),
});

/** Sums by roll-ups and by indexes equal those of the ledger's entries. */
export function ledgerSumTests(store: () => Store): void {
  describe("sums of the ledger", () => {
    test("PORTAL-05 every sum equals that of its single entries, for any history and any period", async () => {
      let worlds = 0;
      const property = fc.asyncProperty(history, async ({ charges, others, ranges }) => {
        worlds += 1;
        const workspaceId = `ws_${worlds}`;
        const posted = others.map(({ is, atMs, nanos }, at) =>
          POSTED[is]({ id: `${workspaceId}:${at}`, workspaceId, currency: "EUR", nanos, createdAtMs: atMs }),
        );
        for (const transaction of posted) await store().ledger.post(transaction);
        const record = ({ atMs, nanos }: (typeof charges)[number], at: number) =>
          chargedRecord(`${workspaceId}:r${at}`, nanos, { workspaceId, createdAtMs: atMs, model: `m${at % 3}` });
        await store().ingest(
          charges
            .map(record)
            .filter((_, at) => charges[at]?.interrupted === "before")
            .map(interrupted),
        );
        await store().ingest(
          charges.flatMap((charge, at) => {
            const ended = record(charge, at);
            return charge.interrupted === "in the same batch" ? [interrupted(ended), ended] : [ended];
          }),
        );
        const all = await everything(store(), workspaceId);
        expect(all).toHaveLength(posted.length + charges.filter(({ nanos }) => nanos > 0n).length);
        for (const [one, other] of ranges) {
          const span = { fromMs: Math.min(one, other), toMs: Math.max(one, other) };
          const expected = sumsOf(all, span);
          expect(await store().ledger.spent(workspaceId, "charges", [span])).toEqual([expected.charged]);
          expect(await store().ledger.spent(workspaceId, "corrections", [span])).toEqual([expected.corrected]);
          const { openingNanos, kinds } = await store().ledger.statement(workspaceId, span);
          expect([openingNanos, Object.fromEntries(kinds.map(({ kind, ...sums }) => [kind, sums]))]).toEqual([
            expected.opening,
            expected.kinds,
          ]);
          expect(await balancesBefore(store(), workspaceId, span.toMs)).toEqual(expected.balances);
        }
      });
      await fc.assert(property, { numRuns: 25 });
      expect(await store().ledger.audit()).toEqual([]);
    }, 120_000);

    test("BILL-01 BILL-07 an interrupted request whose end comes later counts once and with its end", async () => {
      const { ledger, log, rollups } = store();
      const [workspaceId, dayMs] = ["ws_late", BEGIN + 12 * 60 * 60 * 1000];
      const ended = chargedRecord("r_late", 30n, { workspaceId, createdAtMs: dayMs });
      await ledger.post(topupOf({ id: "t_late", workspaceId, currency: "EUR", nanos: 100n, createdAtMs: BEGIN }));
      await store().ingest([interrupted(ended)]);
      for (let times = 0; times < 2; times += 1) await store().ingest([ended, interrupted(ended)]);
      expect(await log.find("r_late")).toEqual(ended);
      const days = await rollups.daily(workspaceId, "2026-10-29", "2026-10-29");
      expect(days.filter(({ requests }) => requests !== 0)).toEqual([
        expect.objectContaining({ model: ended.model, requests: 1, errors: 0, outputTokens: 300, costNanos: 30n }),
      ]);
      const hours = { fromMs: BEGIN, toMs: BEGIN + DAY_MS, stepMs: DAY_MS, group: null, filter: {} };
      const [day] = await rollups.usage(workspaceId, hours, 10);
      expect(day).toMatchObject({ requests: 1, errors: 0, outputTokens: 300, timedRequests: 1, costNanos: 30n });
      const october = { fromMs: BEGIN, toMs: BEGIN + DAY_MS };
      expect((await ledger.statement(workspaceId, october)).kinds).toContainEqual({
        kind: "charge",
        transactions: 1,
        inNanos: 0n,
        outNanos: 30n,
      });
      const after = { fromMs: BEGIN + DAY_MS, toMs: BEGIN + 2 * DAY_MS };
      expect((await ledger.statement(workspaceId, after)).openingNanos).toBe(70n);
      expect(await ledger.audit()).toEqual([]);
    });
  });
}

/** A request that a replay found begun, before its end was known. */
function interrupted(record: RequestRecord): RequestRecord {
  return { ...record, model: null, provider: null, status: 0, errorCode: "interrupted", usage: null, charge: null };
}

/** Newest first. */
async function everything({ ledger }: Store, workspaceId: string): Promise<Transaction[]> {
  const { rows, next } = await ledger.entries(workspaceId, 100, null);
  expect(next).toBeNull();
  return rows;
}

async function balancesBefore({ ledger }: Store, workspaceId: string, untilMs: number): Promise<bigint[]> {
  const found: bigint[] = [];
  let cursor: string | null = null;
  do {
    const { rows, next } = await ledger.balances(workspaceId, 9, cursor, { untilMs });
    found.push(...rows.map(({ balanceNanos }) => balanceNanos));
    cursor = next;
  } while (cursor !== null);
  return found;
}

function sumsOf(all: readonly Transaction[], { fromMs, toMs }: { fromMs: number; toMs: number }) {
  const within = all.filter(({ createdAtMs }) => createdAtMs >= fromMs && createdAtMs < toMs);
  const sum = (list: readonly bigint[]) => list.reduce((so, nanos) => so + nanos, 0n);
  const kinds: Record<string, { transactions: number; inNanos: bigint; outNanos: bigint }> = {};
  for (const one of within) {
    const nanos = walletNanosOf(one);
    const known = kinds[one.kind] ?? { transactions: 0, inNanos: 0n, outNanos: 0n };
    kinds[one.kind] = {
      transactions: known.transactions + 1,
      inNanos: known.inNanos + (nanos > 0n ? nanos : 0n),
      outNanos: known.outNanos - (nanos < 0n ? nanos : 0n),
    };
  }
  const before = all.filter(({ createdAtMs }) => createdAtMs < toMs);
  return {
    kinds,
    charged: kinds["charge"]?.outNanos ?? 0n,
    corrected: kinds["adjustment"]?.outNanos ?? 0n,
    opening: sum(all.filter(({ createdAtMs }) => createdAtMs < fromMs).map(walletNanosOf)),
    balances: before.map((_, at) => sum(before.slice(at).map(walletNanosOf))),
  };
}
