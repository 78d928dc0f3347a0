import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chargedRecord, finishedRecord } from "../../../tests/support/records.ts";
import { chargedNanosOf } from "./charge.ts";
import {
  assertBalanced,
  CHARGE,
  entriesOf,
  payoutOf,
  type Transaction,
  topupOf,
  transferOf,
  UnbalancedTransaction,
} from "./ledger.ts";

const posting = { id: "t1", workspaceId: "ws_1", currency: "EUR", createdAtMs: 1 };

describe("transactions", () => {
  test("BILL-01 every transaction sums to zero in each currency", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), (nanos) => {
        for (const make of [payoutOf, topupOf]) expect(() => assertBalanced(make({ ...posting, nanos }))).not.toThrow();
      }),
    );
    const { entries, ...rest } = topupOf({ ...posting, nanos: 5n });
    const [from, to] = entries;
    const broken: Transaction[] = [
      { ...rest, entries: entries.slice(1) },
      { ...rest, entries: from && to ? [from, { ...to, nanos: 4n }] : [] },
      // Sums to zero only across currencies.
      { ...rest, entries: from && to ? [from, { ...to, currency: "USD" }] : [] },
    ];
    for (const transaction of broken) expect(() => assertBalanced(transaction)).toThrow(UnbalancedTransaction);
  });

  test("BILL-01 a transaction is stored as one transfer and read back as the same entries", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), (nanos) => {
        for (const make of [payoutOf, topupOf]) {
          const transaction = make({ ...posting, nanos });
          const mirrored = { ...transaction, entries: transaction.entries.toReversed() };
          expect(entriesOf(transferOf(transaction), "ws_1")).toEqual(transaction.entries);
          if (nanos > 0n) expect(transferOf(mirrored)).toEqual(transferOf(transaction));
        }
      }),
    );
  });

  test("BILL-01 anything but a transfer between two accounts of one workspace is rejected", () => {
    const good = topupOf({ ...posting, nanos: 5n });
    const [from, to] = good.entries;
    if (from === undefined || to === undefined) throw new Error("a top-up has two entries");
    const refused = [[], [from], [from, to, { ...to, nanos: 0n }], [from, { ...to, account: from.account }]];
    for (const entries of [...refused, [from, { ...to, workspaceId: "ws_2" }], [from, { ...to, nanos: 4n }]])
      expect(() => transferOf({ ...good, entries })).toThrow();
  });

  test("BILL-01 a charge lowers the wallet, a top-up raises it", () => {
    const moves = ({ entries }: Pick<Transaction, "entries">) => entries.map(({ account, nanos }) => [account, nanos]);
    expect(moves({ entries: entriesOf({ ...CHARGE, currency: "EUR", nanos: 5n }, "ws_1") })).toEqual([
      ["wallet", -5n],
      ["revenue", 5n],
    ]);
    expect(moves(topupOf({ ...posting, nanos: 5n }))).toEqual([
      ["topup_clearing", -5n],
      ["wallet", 5n],
    ]);
  });

  test("BILL-02 a request costs its charge, and never less than zero", () => {
    expect(chargedNanosOf(chargedRecord("r1", 2n ** 60n + 1n))).toBe(2n ** 60n + 1n);
    expect(chargedNanosOf(chargedRecord("r1", 0n))).toBe(0n);
    expect(chargedNanosOf(finishedRecord("r1", { charge: null }))).toBe(0n);
    expect(() => chargedNanosOf(chargedRecord("r1", -7n))).toThrow(RangeError);
  });
});

test("BILL-01 every invariant of the README names a file with tests of its requirement", () => {
  const root = path.resolve(import.meta.dirname, "../../..");
  const readme = readFileSync(path.join(import.meta.dirname, "README.md"), "utf8");
  const named = [...readme.matchAll(/`(BILL-\d+)` in `([^`]+)`/g)].map(([, id = "", file = ""]) => ({ id, file }));
  expect(named.length).toBeGreaterThan(10);
  const untested = named.filter(({ id, file }) => {
    const source = path.join(root, file);
    return !existsSync(source) || !new RegExp(`["\`][^"\`\n]*\\b${id}\\b`).test(readFileSync(source, "utf8"));
  });
  expect(untested).toEqual([]);
});
