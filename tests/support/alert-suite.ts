import { describe, expect, test } from "vitest";
import { type AlertRules, defaultAlertRules } from "../../src/domain/alerts/alert-rules.ts";
import type { Delivery, FiredAlert } from "../../src/domain/alerts/alert-store.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { withWorkspaces } from "./workspaces.ts";

const save = (store: Store, rules: AlertRules) =>
  store.change(async ({ alertRules }) => {
    await alertRules.save(rules);
    return { result: null, audit: null };
  });

const delivery = (id: string, more: Partial<Delivery> = {}): Delivery => ({
  id,
  alertId: "alert_1",
  workspaceId: "ws_1",
  type: "balance.low",
  channel: "webhook",
  target: "https://example.eu",
  payload: '{"id":"alert_1"}',
  createdAtMs: 10,
  state: "waiting",
  attempts: 0,
  atMs: 10,
  lastError: null,
  ...more,
});
const fired = (subject: string, mark: string, ...deliveries: Delivery[]): FiredAlert => ({
  subject,
  mark,
  alertId: "alert_1",
  deliveries,
});

const ALL = { total: 10, perWorkspace: 10 };

/** Rules, sent alerts, and pending deliveries. */
export function alertTests(store: () => Store, reopen: () => Promise<Store>): void {
  describe("alerts", () => {
    test("BILL-10 rules are stored, changed and removed with the alerts sent under them", async () => {
      await withWorkspaces(store());
      const plain = defaultAlertRules("ws_2", 5);
      const rules: AlertRules = {
        workspaceId: "ws_1",
        lowBalanceNanos: 2n ** 53n + 1n,
        limitPercents: [50, 100],
        credentialRefused: false,
        dataClasses: ["secret", "acme"],
        mailTo: ["ada@example.eu"],
        webhook: { url: "https://example.eu/hook", sealed: Buffer.from([0, 255]), secretChangedAtMs: 4 },
        changedAtMs: 6,
      };
      await save(store(), defaultAlertRules("ws_1", 1));
      await save(store(), rules);
      await save(store(), plain);
      const kept = await (await reopen()).alerts.rules.all();
      expect(kept.map(({ webhook }) => [...(webhook?.sealed ?? [])])).toEqual([[0, 255], []]);
      const sealed = expect.anything();
      expect(kept).toEqual([{ ...rules, webhook: { ...rules.webhook, sealed } }, plain]);
      await store().alerts.recordTransitions("ws_1", [], [fired("balance", "")], 1);
      await store().change(async ({ alertRules }) => {
        await alertRules.remove("ws_1");
        return { result: null, audit: null };
      });
      expect(await store().alerts.rules.all()).toEqual([plain]);
      expect(await store().alerts.activeAlerts("ws_1")).toEqual([]);
    });

    test("BILL-10 an alert is sent once until its condition ends; another threshold is another crossing", async () => {
      await withWorkspaces(store());
      const { alerts } = store();
      await alerts.recordTransitions(
        "ws_1",
        [],
        [fired("balance", "", delivery("d1"), delivery("d2", { channel: "mail" }))],
        10,
      );
      await alerts.recordTransitions("ws_1", [], [fired("balance", "", delivery("d3"))], 11);
      await alerts.recordTransitions("ws_2", [], [fired("balance", "", delivery("d4", { workspaceId: "ws_2" }))], 11);
      const ids = async (workspaceId: string) =>
        (await store().alerts.deliveries(workspaceId, 100, null)).rows.map(({ id }) => id);
      expect([await ids("ws_1"), await ids("ws_2")]).toEqual([["d2", "d1"], ["d4"]]);
      expect(await (await reopen()).alerts.activeAlerts("ws_1")).toEqual([{ subject: "balance", mark: "" }]);
      await store().alerts.recordTransitions("ws_1", [{ subject: "balance", mark: "other" }], [], 12);
      expect(await store().alerts.activeAlerts("ws_1")).toHaveLength(1);
      const over = [{ subject: "balance", mark: "" }];
      await store().alerts.recordTransitions(
        "ws_1",
        over,
        [fired("balance", "", delivery("d5", { createdAtMs: 12 }))],
        12,
      );
      expect(await ids("ws_1")).toEqual(["d5", "d2", "d1"]);
    });

    test("BILL-10 a failed round stores nothing: neither the alert nor its deliveries", async () => {
      await withWorkspaces(store());
      const twice = fired("balance", "", delivery("same"), delivery("same"));
      await expect(store().alerts.recordTransitions("ws_1", [], [twice], 10)).rejects.toThrow();
      expect(await store().alerts.activeAlerts("ws_1")).toEqual([]);
      expect((await store().alerts.deliveries("ws_1", 10, null)).rows).toEqual([]);
    });

    test("BILL-10 a delivery is claimed by one process, retried when due, and finished once", async () => {
      await withWorkspaces(store());
      const { alerts } = store();
      const [first, later] = [delivery("d1"), delivery("d2", { atMs: 50 })];
      await alerts.recordTransitions("ws_1", [], [fired("balance", "", first, later)], 10);
      expect(await alerts.due(20, ALL)).toEqual([first]);
      expect([await alerts.claim(first, 100), await alerts.claim(first, 100)]).toEqual([true, false]);
      expect(await alerts.due(99, ALL)).toEqual([later]);
      await alerts.conclude("d1", { state: "waiting", atMs: 30, lastError: "the receiver is unreachable" });
      const again = { ...first, attempts: 1, atMs: 30, lastError: "the receiver is unreachable" };
      expect(await (await reopen()).alerts.due(30, ALL)).toEqual([again]);
      await store().alerts.conclude("d1", { state: "delivered", atMs: 31, lastError: null });
      await store().alerts.conclude("d1", { state: "failed", atMs: 32, lastError: "too late" });
      const { rows } = await store().alerts.deliveries("ws_1", 10, null);
      expect(rows.map(({ id, state, attempts }) => [id, state, attempts])).toEqual([
        ["d2", "waiting", 0],
        ["d1", "delivered", 1],
      ]);
      expect([await store().alerts.sweep(31), await store().alerts.sweep(32), await store().alerts.sweep(1e9)]).toEqual(
        [0, 1, 0],
      );
    });
    orderTests(store);
  });
}

function orderTests(store: () => Store): void {
  test("BILL-10 a workspace with many deliveries gets a fair share", async () => {
    await withWorkspaces(store());
    const { alerts } = store();
    const many = [1, 2, 3, 4, 5].map((n) => delivery(`a${n}`, { atMs: n, alertId: `alert_${n % 2}` }));
    await alerts.recordTransitions("ws_1", [], [fired("balance", "", ...many)], 10);
    const late = delivery("b1", { workspaceId: "ws_2", atMs: 9 });
    await alerts.recordTransitions("ws_2", [], [fired("balance", "", late)], 10);
    const due = async (total: number, perWorkspace: number) =>
      (await alerts.due(20, { total, perWorkspace })).map(({ id }) => id);
    expect(await due(10, 2)).toEqual(["a1", "b1", "a2"]);
    expect(await due(2, 2)).toEqual(["a1", "b1"]);
    expect(await due(10, 10)).toHaveLength(6);
    const counts = [await alerts.countAlertsSince("ws_1", 10), await alerts.countAlertsSince("ws_1", 11)];
    expect([...counts, await alerts.countAlertsSince("ws_2", 0)]).toEqual([2, 0, 1]);
  });

  test("BILL-10 deliveries are listed newest first, paginated", async () => {
    await withWorkspaces(store());
    const many = [1, 2, 3, 4, 5].map((n) => delivery(`d${n}`, { createdAtMs: 10 + Math.floor(n / 2) }));
    await store().alerts.recordTransitions("ws_1", [], [fired("balance", "", ...many)], 10);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { rows: Delivery[]; next: string | null } = await store().alerts.deliveries("ws_1", 2, cursor);
      seen.push(...page.rows.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== null);
    expect(seen).toEqual(["d5", "d4", "d3", "d2", "d1"]);
  });
}
