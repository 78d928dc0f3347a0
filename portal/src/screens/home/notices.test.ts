import { expect, test } from "vitest";
import { collectNotices } from "./notices.ts";

const FACTS = {
  keys: [],
  balance: "10.00",
  spent30Days: 0,
  limits: [],
  hasNoSecondFactor: false,
  isAdmin: true,
  nowMs: Date.UTC(2026, 10, 15, 12),
  at: (path = "") => path,
};

const texts = (facts: Partial<Parameters<typeof collectNotices>[0]>) =>
  collectNotices({ ...FACTS, ...facts }).map(({ text }) => text);

test("a healthy workspace has no notices", () => {
  expect(texts({})).toEqual([]);
  // Members don't see the balance.
  expect(texts({ balance: undefined, spent30Days: 1000 })).toEqual([]);
});

test("a balance is low relative to the spend of the last 30 days", () => {
  expect(texts({ balance: "10.00", spent30Days: 40 })).toEqual([]);
  expect(texts({ balance: "10.00", spent30Days: 60 })).toEqual([
    "At the current rate, the balance lasts about 5 days.",
  ]);
  expect(texts({ balance: "0.00" })).toEqual(["The wallet is empty. Paid requests are rejected."]);
});

test("a limit is reported from 90% usage", () => {
  const period = { spent: "0.00", held: "0.00", remaining: null, resets_at: "2026-12-01T00:00:00.000Z", limit: null };
  const limit = (spent: string) => ({
    of: "key" as const,
    workspace: "demo",
    member: null,
    key: "key_1",
    key_name: "backend",
    currency: "EUR",
    day: period,
    month: { ...period, limit: "10.00", spent },
  });
  expect(texts({ limits: [limit("8.99")] })).toEqual([]);
  expect(texts({ limits: [limit("9.00")] })).toEqual(["90% of the monthly spend limit for backend is used."]);
});

test("admins without a second factor get a notice", () => {
  expect(texts({ hasNoSecondFactor: true })).toEqual(["Your account has no passkey and no two-factor authentication."]);
  expect(texts({ hasNoSecondFactor: true, isAdmin: false })).toEqual([]);
});
