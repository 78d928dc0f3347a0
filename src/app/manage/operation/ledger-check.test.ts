import { expect, test } from "vitest";
import { StoreError } from "../../../io/store/sql/store-error.ts";
import { ledgerCheck } from "./ledger-check.ts";

/** Books that are read as long as a test wants. */
function room() {
  const audits: PromiseWithResolvers<string[]>[] = [];
  const waits: (() => void)[] = [];
  let nowMs = Date.UTC(2026, 10, 16);
  const audit = () => {
    const one = Promise.withResolvers<string[]>();
    audits.push(one);
    return one.promise;
  };
  const checks = ledgerCheck({
    store: { ledger: { audit, auditChanges: audit } },
    clock: { nowMs: () => nowMs++, monotonicMs: () => nowMs },
    timers: {
      after(_ms, then) {
        waits.push(then);
        return { refresh() {}, [Symbol.dispose]() {} };
      },
    },
  });
  const late = () => {
    for (const then of waits.splice(0)) then();
  };
  return { check: checks("full"), changes: checks("changes"), audits, late };
}

const BEGUN = "2026-11-16T00:00:00.000Z";

test("BILL-01 a balanced ledger passes, a broken one fails, and every later check runs a new audit", async () => {
  const { check, audits } = room();
  const first = check.run();
  audits[0]?.resolve([]);
  expect(await first).toEqual({ ok: true, detail: "the ledger balances; every row was read" });
  const second = check.run();
  audits[1]?.resolve(Array.from({ length: 12 }, (_, at) => `broken ${at}`));
  expect(await second).toMatchObject({ ok: false, detail: expect.stringMatching(/^broken 0; .*; broken 9$/) });
});

test("BILL-01 SCALE-23 a slow audit is not reported as ok: it continues, runs once, and the next check gets its result", async () => {
  const { check, audits, late } = room();
  const asked = [check.run(), check.run()];
  late();
  const pending = {
    ok: false,
    detail: `unfinished: the ledger is large and being checked since ${BEGUN}; run the check again later`,
  };
  expect(await Promise.all(asked)).toEqual([pending, pending]);
  audits[0]?.resolve(["the wallet is wrong"]);
  expect(await check.run()).toEqual({ ok: false, detail: `the wallet is wrong (as of ${BEGUN})` });
  expect(audits).toHaveLength(1);
  const next = check.run();
  audits[1]?.resolve([]);
  expect(await next).toEqual({ ok: true, detail: "the ledger balances; every row was read" });
});

test("SCALE-23 a check of the changes says what it did not read, and does not wait for one of all rows", async () => {
  const { check, changes, audits } = room();
  const full = check.run();
  const quick = changes.run();
  audits[1]?.resolve([]);
  const detail = "the ledger balances; days unchanged since an earlier check were not read";
  expect(await quick).toEqual({ ok: true, detail });
  audits[0]?.resolve(["the wallet is wrong"]);
  expect(await full).toEqual({ ok: false, detail: "the wallet is wrong" });
});

test("BILL-01 an audit that times out in the database claims nothing; a store outage fails", async () => {
  const { check, audits } = room();
  const first = check.run();
  audits[0]?.reject(new StoreError("unavailable", "canceling statement due to statement timeout", "statement_timeout"));
  const detail =
    "unfinished: the check was stopped, nothing broken so far: canceling statement due to statement timeout";
  expect(await first).toEqual({ ok: false, detail });
  const second = check.run();
  audits[1]?.reject(new StoreError("unavailable", "connect ECONNREFUSED"));
  expect(await second).toEqual({ ok: false, detail: "connect ECONNREFUSED" });
});
