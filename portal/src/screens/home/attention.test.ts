import { expect, test } from "vitest";
import { remarksOf } from "./attention.ts";

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

const texts = (facts: Partial<Parameters<typeof remarksOf>[0]>) =>
  remarksOf({ ...FACTS, ...facts }).map(({ text }) => text);

test("a workspace with nothing to say says nothing", () => {
  expect(texts({})).toEqual([]);
  // The balance of a workspace is not for plain members to see.
  expect(texts({ balance: undefined, spent30Days: 1000 })).toEqual([]);
});

test("a balance is low by the pace of the last 30 days, not by its size", () => {
  expect(texts({ balance: "10.00", spent30Days: 40 })).toEqual([]);
  expect(texts({ balance: "10.00", spent30Days: 60 })).toEqual([
    "At the pace of the last 30 days the balance lasts about 5 days.",
  ]);
  expect(texts({ balance: "0.00" })).toEqual(["The wallet is empty: requests that cost money are refused."]);
});

test("limits are named from nine tenths on", () => {
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
  expect(texts({ limits: [limit("9.00")] })).toEqual(["90% of the month's spend limit of backend is used."]);
});

test("an account with a password alone is named to those who can do much", () => {
  expect(texts({ hasNoSecondFactor: true })).toEqual(["Your account has neither a passkey nor a second factor."]);
  expect(texts({ hasNoSecondFactor: true, isAdmin: false })).toEqual([]);
});
