import { describe, expect, test } from "vitest";
import { chargeIdOf } from "../../src/domain/billing/charge.ts";
import {
  adjustmentOf,
  expiryOf,
  type Posting,
  payoutOf,
  promotionOf,
  refundOf,
  topupOf,
} from "../../src/domain/billing/ledger.ts";
import type { PaymentOrder } from "../../src/domain/billing/payment.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { ledgerSumTests } from "./ledger-sums-suite.ts";
import { chargedRecord, finishedRecord } from "./records.ts";

const BIG = 2n ** 53n + 1n;
const NOVEMBER = Date.UTC(2026, 10);
const DECEMBER = Date.UTC(2026, 11);

const posting = (id: string, nanos: bigint, createdAtMs: number): Posting => ({
  id,
  workspaceId: "ws_1",
  currency: "EUR",
  nanos,
  createdAtMs,
});

const order: PaymentOrder = {
  id: "ord_1",
  workspaceId: "ws_1",
  adapter: "webhook",
  reference: "a",
  currency: "EUR",
  nanos: BIG,
  state: "open",
  createdAtMs: 5,
  paidAtMs: null,
  paymentId: null,
};

const charged = (id: string, nanos: bigint, createdAtMs: number, more: object = {}) =>
  chargedRecord(id, nanos, { createdAtMs, ...more });

/** Refunds, expiring credit, payments, and their sums. */
export function paymentTests(store: () => Store): void {
  describe("payments", () => {
    returnTests(store);
    sumTests(store);
    ledgerSumTests(store);
    orderTests(store);
  });
}

function returnTests(store: () => Store): void {
  test("BILL-01 finds the requests whose charges are in the ledger, by workspace, time and id", async () => {
    const { ledger, ingest } = store();
    const records = Array.from({ length: 1100 }, (_, n) => charged(`r${n}`, n < 1050 ? 1n : 0n, 1000 + n));
    await ingest(records);
    const others = [
      charged("r0", 1n, 999),
      charged("r1", 1n, 1001, { workspaceId: "ws_2" }),
      charged("none", 1n, 1000),
    ];
    expect(await ledger.chargedRequestIds([])).toEqual(new Set());
    expect(await ledger.chargedRequestIds(others)).toEqual(new Set());
    expect(await ledger.chargedRequestIds([...others, ...records])).toEqual(
      new Set(records.slice(0, 1050).map(({ id }) => id)),
    );
    expect(await ledger.chargedRequestIds([charged("r0", 1n, 1000.5)])).toEqual(new Set(["r0"]));
  });

  test("BILL-01 refunds of a charge are summed, and the charge is found by its request", async () => {
    await store().ledger.post(topupOf(posting("t1", 10n * BIG, 1)));
    await store().ingest([charged("r1", BIG, 1000), charged("r2", 3n, 1000)]);
    const within = { fromMs: 900, toMs: 1100 };
    const charge = await store().ledger.findCharge("ws_1", "r1", within);
    expect(charge).toMatchObject({ id: chargeIdOf("r1"), kind: "charge", createdAtMs: 1000 });
    expect(await store().ledger.findCharge("ws_1", "r1", { fromMs: 0, toMs: 1000 })).toBeUndefined();
    expect(await store().ledger.findCharge("ws_2", "r1", within)).toBeUndefined();
    const source = { id: chargeIdOf("r1"), workspaceId: "ws_1", createdAtMs: 1000 };
    await store().ledger.post(refundOf(posting("f1", BIG - 5n, 2000)));
    expect(await store().ledger.recordReturn("f1", source)).toBe(BIG - 5n);
    await store().ledger.post(refundOf(posting("f2", 5n, 2001)));
    expect(await store().ledger.recordReturn("f2", source)).toBe(BIG);
    expect(await store().ledger.returned("ws_1", chargeIdOf("r2"))).toBe(0n);
    const kinds = ["refund", "payout"] as const;
    const byKind = kinds.map((kind) => store().ledger.returned("ws_1", chargeIdOf("r1"), kind));
    expect(await Promise.all(byKind)).toEqual([await store().ledger.returned("ws_1", chargeIdOf("r1")), 0n]);
    const listed = kinds.map((kind) => store().ledger.returns("ws_1", chargeIdOf("r1"), kind));
    expect((await Promise.all(listed)).map((rows) => rows.map(({ id }) => id).toSorted())).toEqual([["f1", "f2"], []]);
    expect(await store().ledger.returns("ws_2", chargeIdOf("r1"), "refund")).toEqual([]);
    expect(await store().ledger.audit()).toEqual([]);
    await store().ledger.post(refundOf(posting("f3", 1n, 2002)));
    await store().ledger.recordReturn("f3", source);
    expect(await store().ledger.audit()).toEqual([`${BIG + 1n} of charge:r1 was refunded, but its amount is ${BIG}`]);
    await expect(store().ledger.recordReturn("f3", source)).rejects.toThrow();
  });

  test("BILL-06 price, rate and margin of a charge are in the ledger, which outlives the log", async () => {
    const charge = finishedRecord("m1").charge;
    if (charge === null) throw new Error("the record has no charge");
    await store().ledger.post(topupOf(posting("t1", 10n * BIG, 1)));
    await store().ingest([finishedRecord("m1", { createdAtMs: 1000, charge: { ...charge, margin: "0.05" } })]);
    const found = await store().ledger.findCharge("ws_1", "m1", { fromMs: 900, toMs: 1100 });
    expect(found?.detail).toEqual({ price: charge.price, rate: charge.rate, margin: "0.05" });
  });

  test("BILL-01 a transaction is found by id, entries by kind and time", async () => {
    await store().ledger.post(topupOf(posting("t1", 10n, 10)));
    await store().ledger.post(promotionOf(posting("p1", 5n, 20)));
    await store().ledger.post(payoutOf(posting("o1", 2n, 30)));
    await store().ingest([charged("r1", 1n, 40)]);
    expect(await store().ledger.find("p1")).toMatchObject({ kind: "promotion", createdAtMs: 20 });
    expect(await store().ledger.find("charge:r1")).toBeUndefined();
    const ids = async (filter: object) =>
      (await store().ledger.entries("ws_1", 10, null, filter)).rows.map(({ id }) => id);
    expect(await ids({ kinds: ["topup", "charge"] })).toEqual(["charge:r1", "t1"]);
    expect(await ids({ sinceMs: 20, untilMs: 40 })).toEqual(["o1", "p1"]);
    const first = await store().ledger.entries("ws_1", 1, null, { kinds: ["topup", "payout"] });
    expect(first.rows.map(({ id }) => id)).toEqual(["o1"]);
    const second = await store().ledger.entries("ws_1", 1, first.next, { kinds: ["topup", "payout"] });
    expect([second.rows.map(({ id }) => id), second.next]).toEqual([["t1"], null]);
  });

  test("PORTAL-05 every entry has the running balance up to it, on every page", async () => {
    await store().ledger.post(topupOf(posting("t1", 10n * BIG, 10)));
    await store().ledger.post(promotionOf(posting("p1", 5n, 20)));
    await store().ledger.post(payoutOf(posting("o1", 2n, 20)));
    await store().ingest([charged("r1", 1n, 40)]);
    // Booked last with an earlier time: the request began before the others.
    await store().ingest([charged("r0", 3n, 15)]);
    const pages: string[] = [];
    let cursor: string | null = null;
    do {
      const { rows, next } = await store().ledger.balances("ws_1", 2, cursor);
      pages.push(...rows.map(({ transaction, balanceNanos }) => `${transaction.id} ${balanceNanos - 10n * BIG}`));
      cursor = next;
    } while (cursor !== null);
    expect(pages).toEqual(["charge:r1 -1", "p1 0", "o1 -5", "charge:r0 -3", "t1 0"]);
    const { rows: some } = await store().ledger.balances("ws_1", 10, null, { sinceMs: 15, untilMs: 40 });
    expect(some.map(({ balanceNanos }) => balanceNanos - 10n * BIG)).toEqual([0n, -5n, -3n]);
    expect(await store().ledger.balances("ws_none", 10, null)).toEqual({ rows: [], next: null });
  });
}

function sumTests(store: () => Store): void {
  test("BILL-01 the sum of all wallets may exceed the range of one", async () => {
    const { ledger } = store();
    const full = 2n ** 62n;
    for (const workspaceId of ["ws_1", "ws_2", "ws_3"])
      await ledger.post(topupOf({ ...posting(`of ${workspaceId}`, full, 1), workspaceId }));
    expect((await ledger.wallets()).map(({ balanceNanos }) => balanceNanos)).toEqual([full, full, full]);
    expect(await ledger.audit()).toEqual([]);
  });

  test("BILL-01 spend of promotions is charges and downward corrections, by period", async () => {
    await store().ledger.post(topupOf(posting("t1", 10n * BIG, 1)));
    await store().ledger.post(adjustmentOf("down", posting("a1", 7n, 110)));
    await store().ledger.post(adjustmentOf("up", posting("a2", 9n, 120)));
    await store().ledger.post(payoutOf(posting("o1", 11n, 130)));
    await store().ingest([charged("r1", BIG, 100), charged("r2", 5n, 199), charged("r3", 1n, 200)]);
    const spans = [
      { fromMs: 0, toMs: 100 },
      { fromMs: 100, toMs: 200 },
      { fromMs: 200, toMs: 300 },
    ];
    expect(await store().ledger.spent("ws_1", "charges", spans)).toEqual([0n, BIG + 5n, 1n]);
    expect(await store().ledger.spent("ws_1", "corrections", spans)).toEqual([0n, 7n, 0n]);
    expect(await store().ledger.spent("ws_2", "charges", spans)).toEqual([0n, 0n, 0n]);
  });

  test("BILL-01 a statement is the ledger of its month, and charges by model are its charges", async () => {
    await store().ledger.post(topupOf(posting("t0", 100n, NOVEMBER - 1)));
    await store().ledger.post(topupOf(posting("t1", BIG, NOVEMBER)));
    await store().ledger.post(adjustmentOf("down", posting("a1", 7n, NOVEMBER + 1)));
    await store().ledger.post(adjustmentOf("up", posting("a2", 2n, NOVEMBER + 2)));
    await store().ledger.post(topupOf(posting("t2", 4n, DECEMBER)));
    await store().ingest([
      charged("r0", 30n, NOVEMBER - 1),
      charged("r1", 11n, NOVEMBER),
      charged("r2", 13n, DECEMBER - 1, { model: "b/two" }),
      charged("r3", 17n, DECEMBER),
    ]);
    const { openingNanos, kinds, models } = await store().ledger.statement("ws_1", {
      fromMs: NOVEMBER,
      toMs: DECEMBER,
    });
    expect(openingNanos).toBe(70n);
    expect(kinds.toSorted((a, b) => (a.kind < b.kind ? -1 : 1))).toEqual([
      { kind: "adjustment", transactions: 2, inNanos: 2n, outNanos: 7n },
      { kind: "charge", transactions: 2, inNanos: 0n, outNanos: 24n },
      { kind: "topup", transactions: 1, inNanos: BIG, outNanos: 0n },
    ]);
    expect(models.map(({ nanos }) => nanos).toSorted((a, b) => Number(a - b))).toEqual([11n, 13n]);
    const empty = await store().ledger.statement("ws_none", { fromMs: NOVEMBER, toMs: DECEMBER });
    expect(empty).toEqual({ openingNanos: 0n, kinds: [], models: [] });
  });
}

function orderTests(store: () => Store): void {
  test("BILL-01 promotional credit is stored, expires in parts, and is settled once", async () => {
    const one = { id: "p1", workspaceId: "ws_1", nanos: BIG, grantedAtMs: 10, expiresAtMs: 20 };
    await store().promotions.add(one);
    await store().promotions.add({ ...one, id: "p2", expiresAtMs: 30 });
    expect(await store().promotions.due(19)).toEqual([]);
    expect(await store().promotions.due(20)).toEqual([{ id: "p1", workspaceId: "ws_1", expiresAtMs: 20 }]);
    expect(await store().promotions.nextExpiryMs(0)).toBe(20);
    expect(await store().promotions.nextExpiryMs(20)).toBe(30);
    await store().promotions.recordExpiry("p1", BIG - 1n);
    await expect(store().promotions.recordExpiry("p1", 2n)).rejects.toThrow();
    await store().promotions.recordExpiry("p1", 1n);
    await store().promotions.close("p1", 25);
    await expect(store().promotions.recordExpiry("p1", 0n)).rejects.toThrow("already settled");
    expect(await store().promotions.list("ws_1")).toEqual([
      { ...one, expiredNanos: BIG, expiryParts: 2, closedAtMs: 25 },
      { ...one, id: "p2", expiresAtMs: 30, expiredNanos: 0n, expiryParts: 0, closedAtMs: null },
    ]);
    expect(await store().promotions.due(29)).toEqual([]);
    await expect(store().promotions.add({ ...one, id: "p3", nanos: 0n })).rejects.toThrow();
    await expect(store().promotions.add({ ...one, id: "p3", expiresAtMs: 10 })).rejects.toThrow();
  });

  test("BILL-01 the audit finds promotional credit missing in the ledger, and a one-sided expiry of one nano-unit", async () => {
    const { ledger, promotions } = store();
    await ledger.post(promotionOf(posting("p1", 10n, 10)));
    await promotions.add({ id: "p1", workspaceId: "ws_1", nanos: 10n, grantedAtMs: 10, expiresAtMs: 20 });
    await ledger.post(expiryOf(posting("expiry:p1:1", 4n, 20)));
    await ledger.recordReturn("expiry:p1:1", { id: "p1", workspaceId: "ws_1", createdAtMs: 10 });
    await promotions.recordExpiry("p1", 4n);
    expect(await ledger.audit()).toEqual([]);
    await promotions.recordExpiry("p1", 1n);
    expect(await ledger.audit()).toEqual(["promotion p1 of 10 has 5 expired, but the ledger has 4"]);
    await ledger.post(expiryOf(posting("expiry:p1:2", 1n, 20)));
    await ledger.recordReturn("expiry:p1:2", { id: "p1", workspaceId: "ws_1", createdAtMs: 10 });
    expect(await ledger.audit()).toEqual([]);
    await ledger.post(expiryOf(posting("expiry:p1:3", -2n, 20)));
    await ledger.recordReturn("expiry:p1:3", { id: "p1", workspaceId: "ws_1", createdAtMs: 10 });
    expect(await ledger.audit()).toEqual(["promotion p1 of 10 has 5 expired, but the ledger has 3"]);
    await promotions.recordExpiry("p1", -2n);
    expect([await ledger.audit(), await ledger.returned("ws_1", "p1")]).toEqual([[], 3n]);
    await promotions.add({ id: "p2", workspaceId: "ws_1", nanos: 7n, grantedAtMs: 10, expiresAtMs: 20 });
    expect(await ledger.audit()).toEqual(["promotion p2 of 7 has 0 expired, but the ledger has 0"]);
  });

  test("BILL-01 an order is created once by its reference and paid once; a payment pays one order", async () => {
    const { payments } = store();
    expect(await payments.addOrder(order)).toBe(true);
    expect(await payments.addOrder({ ...order, id: "ord_other" })).toBe(false);
    expect(await payments.addOrder({ ...order, id: "ord_2", reference: "b", createdAtMs: 6 })).toBe(true);
    expect(await payments.orderByReference("ws_1", "a")).toEqual(order);
    expect(await payments.markPaid("ord_1", 9, "pay_1")).toBe(true);
    expect(await payments.markPaid("ord_1", 10, "pay_2")).toBe(false);
    await expect(payments.markPaid("ord_2", 10, "pay_1")).rejects.toThrow();
    const paid = { ...order, state: "paid", paidAtMs: 9, paymentId: "pay_1" };
    expect(await payments.orderByPayment("webhook", "pay_1")).toEqual(paid);
    expect(await payments.orderByPayment("stripe", "pay_1")).toBeUndefined();
    const page = await payments.orders("ws_1", 1, null);
    expect(page.rows.map(({ id }) => id)).toEqual(["ord_2"]);
    expect((await payments.orders("ws_1", 1, page.next)).rows).toEqual([paid]);
  });

  test("BILL-01 the audit names a paid order without its money, and money without its order", async () => {
    await store().payments.addOrder(order);
    await store().payments.markPaid("ord_1", 9, "pay_1");
    expect(await store().ledger.audit()).toEqual([`order ord_1 of ${BIG} has nothing in the ledger`]);
    await store().ledger.post(topupOf(posting("payment:ord_1", BIG, 9)));
    expect(await store().ledger.audit()).toEqual([]);
  });

  test("BILL-01 concurrent refunds of one charge never exceed it", async () => {
    await store().ledger.post(topupOf(posting("t1", 1000n, 1)));
    await store().ingest([charged("r1", 100n, 1000)]);
    const source = { id: "charge:r1", workspaceId: "ws_1", createdAtMs: 1000 };
    const tries = Array.from({ length: 8 }, (_, at) =>
      store().change(async ({ ledger }) => {
        const refund = refundOf(posting(`f${at}`, 30n, 2000 + at));
        await ledger.post(refund);
        if ((await ledger.recordReturn(refund.id, source)) > 100n) throw new RangeError("too much");
        return { result: null, audit: null };
      }),
    );
    const ended = await Promise.allSettled(tries);
    expect(ended.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect(await store().ledger.returned("ws_1", "charge:r1")).toBe(90n);
    expect((await store().ledger.wallet("ws_1"))?.balanceNanos).toBe(990n);
    expect(await store().ledger.audit()).toEqual([]);
  });
}
