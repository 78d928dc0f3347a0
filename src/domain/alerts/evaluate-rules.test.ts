import { describe, expect, test } from "vitest";
import { OPEN_POLICY } from "../tenancy/policy.ts";
import { buildAlertEvent, mailContentOf, NO_SPENDER_NAMES, parseAlertEvent } from "./alert-event.ts";
import { defaultAlertRules } from "./alert-rules.ts";
import { type ActiveAlert, type AlertFacts, evaluateRules, type LimitUsage } from "./evaluate-rules.ts";

const RULES = { ...defaultAlertRules("ws_1", 1), lowBalanceNanos: 10n };
const LIMIT: LimitUsage = {
  of: "workspace",
  spenderId: "ws_1",
  per: "day",
  period: "2026-11-15",
  limitNanos: 100n,
  spentNanos: 0n,
  refused: false,
};
const facts = (more: Partial<AlertFacts> = {}): AlertFacts => ({
  ...{ day: "2026-11-15", dataClasses: [], balanceNanos: 1000n, limits: [], keys: [] },
  ...more,
});
const spent = (spentNanos: bigint, more: Partial<LimitUsage> = {}) =>
  facts({ limits: [{ ...LIMIT, spentNanos, ...more }] });

/** The subjects alerted by successive evaluations. */
function evaluateAll(...rounds: AlertFacts[]): string[][] {
  let active: ActiveAlert[] = [];
  return rounds.map((round) => {
    const { raised, cleared } = evaluateRules(RULES, round, active);
    const isCleared = (one: ActiveAlert) =>
      cleared.some(({ subject, mark }) => subject === one.subject && mark === one.mark);
    active = [...active.filter((one) => !isCleared(one)), ...raised];
    return raised.flatMap(({ condition, subject }) => (condition === null ? [] : [subject]));
  });
}

describe("evaluation", () => {
  test("BILL-10 a low balance is alerted once, and again after it recovered", () => {
    const at = (balanceNanos: bigint) => facts({ balanceNanos });
    expect(evaluateAll(at(10n), at(9n), at(8n), at(-1n), at(10n), at(9n))).toEqual([
      [],
      ["balance"],
      [],
      [],
      [],
      ["balance"],
    ]);
  });

  test("BILL-10 every percentage of a limit is alerted once per period", () => {
    const next = { period: "2026-11-16" };
    expect(
      evaluateAll(spent(79n), spent(80n), spent(99n), spent(100n), spent(120n), spent(0n, next), spent(80n, next)),
    ).toEqual([[], ["limit/ws_1/day/80"], [], ["limit/ws_1/day/100"], [], [], ["limit/ws_1/day/80"]]);
  });

  test("BILL-10 of two percentages reached at once only the higher is alerted", () => {
    expect(evaluateAll(spent(0n), spent(100n), spent(110n))).toEqual([[], ["limit/ws_1/day/100"], []]);
  });

  test("BILL-10 a limit that refuses requests counts as reached, and lower percentages are not alerted after it", () => {
    const refused = { refused: true };
    expect(evaluateAll(spent(50n, refused), spent(50n), spent(85n))).toEqual([["limit/ws_1/day/100"], [], []]);
  });

  test("BILL-10 a changed limit is alerted again, and a limit of zero never", () => {
    const raised = { limitNanos: 101n };
    expect(evaluateAll(spent(80n), spent(85n, raised), facts(), spent(80n))).toEqual([
      ["limit/ws_1/day/80"],
      ["limit/ws_1/day/80"],
      [],
      ["limit/ws_1/day/80"],
    ]);
    expect(evaluateAll(spent(0n, { limitNanos: 0n, refused: true }))).toEqual([[]]);
  });

  test("BILL-10 a refused key is alerted once, and again after it is replaced", () => {
    const key = (mark: string, status?: number) => facts({ keys: [{ provider: "mistral", mark, status }] });
    const alerted = evaluateAll(key("a"), key("a", 401), key("a"), key("a", 401), key("b"), key("b", 403));
    expect(alerted).toEqual([[], ["credential/mistral"], [], [], [], ["credential/mistral"]]);
  });

  test("CLASS-05 a data class is alerted with the first request of a day that contains it, and only if a rule names it", () => {
    const rules = { ...RULES, dataClasses: ["secret"] };
    const found = [
      { name: "secret", requests: 2 },
      { name: "personal", requests: 9 },
    ];
    const raisedOn = (day: string, active: readonly ActiveAlert[], dataClasses = found) =>
      evaluateRules(rules, { ...facts({}), day, dataClasses }, active).raised.map(({ condition }) => condition);
    const condition = { is: "data_class_found", name: "secret", requests: 2, day: "2026-11-15" };
    expect(raisedOn("2026-11-15", [])).toEqual([condition]);
    const sent = [{ subject: "data_class/secret", mark: "2026-11-15" }];
    expect(raisedOn("2026-11-15", sent)).toEqual([]);
    expect(raisedOn("2026-11-16", sent)).toEqual([{ ...condition, day: "2026-11-16" }]);
    expect(raisedOn("2026-11-16", sent, [])).toEqual([]);
  });

  test("BILL-10 conditions without a rule are not alerted, and their active alerts are cleared", () => {
    const quiet = { ...RULES, lowBalanceNanos: null, limitPercents: [], credentialRefused: false };
    const key = { provider: "mistral", mark: "a", status: 401 };
    const all = { ...facts({}), balanceNanos: -5n, limits: [{ ...LIMIT, spentNanos: 100n }], keys: [key] };
    const active = [{ subject: "balance", mark: "" }];
    expect(evaluateRules(quiet, all, active)).toEqual({ raised: [], cleared: active });
  });
});

describe("text", () => {
  const workspace = {
    id: "ws_1",
    slug: "research",
    name: "Research\r\nBcc: someone@example.eu\u2028",
    currency: "EUR",
    createdAtMs: 1,
  };
  const about = {
    id: "alert_1",
    atMs: Date.UTC(2026, 10, 15),
    workspace: {
      ...workspace,
      policy: OPEN_POLICY,
      keyPolicy: { personalKeys: true, approval: false, ipAllowlist: null },
    },
  };

  test("BILL-10 a mail states amounts with their currency, and names cannot add lines", () => {
    const low = { is: "balance_low", balanceNanos: 9_876_543_210n, thresholdNanos: 10_000_000_000n } as const;
    const { subject, text } = mailContentOf(
      parseAlertEvent(JSON.stringify(buildAlertEvent(about, low, NO_SPENDER_NAMES))),
    );
    expect(subject).toBe("Low balance: workspace research has 9.87 EUR");
    expect(text).toContain("below your threshold of 10.00 EUR");
    expect(buildAlertEvent(about, low, NO_SPENDER_NAMES).data).toMatchObject({
      balance: "9.87654321",
      threshold: "10.00",
    });
    const owed = { ...low, balanceNanos: -4_000_000n } as const;
    expect(buildAlertEvent(about, owed, NO_SPENDER_NAMES).title).toBe("Low balance: workspace research has -0.01 EUR");
    expect(text).toContain("Workspace: Research Bcc: someone@example.eu (research)\n");
    expect(`${subject}${text}`).not.toMatch(/[\r\u2028]|^Bcc/m);
    const limit = { ...LIMIT, of: "key", limitNanos: 2_500_000_000n, spentNanos: 2_000_000_000n } as const;
    const names = { member: null, key: "key_1", keyName: 'a"\r\nTo: b@example.eu' };
    const reached = buildAlertEvent(about, { is: "limit_reached", percent: 80, limit }, names);
    expect(mailContentOf(reached).subject).not.toMatch(/[\r\n]/);
    expect(reached.message).toContain("2.00 EUR of the daily spend limit of key");
    expect(reached.data).toMatchObject({
      percent: 80,
      limit: "2.50",
      spent: "2.00",
      resets_at: "2026-11-16T00:00:00.000Z",
    });
  });
});
