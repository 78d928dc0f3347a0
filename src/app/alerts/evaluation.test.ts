import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { AlertMonitor } from "../../domain/alerts/alert-monitor.ts";
import { defaultAlertRules } from "../../domain/alerts/alert-rules.ts";
import { Directory } from "../../domain/tenancy/directory.ts";
import { OPEN_POLICY } from "../../domain/tenancy/policy.ts";
import { MasterKeys } from "../../io/master-keys.ts";
import { openSqlite } from "../../io/store/sql/sqlite/open.ts";
import { openVault } from "../../io/vault.ts";
import { systemClock } from "../../kit/clock.ts";
import { createIdGenerator } from "../../kit/id-generator.ts";
import { HOUR_MS } from "../../kit/time.ts";
import { systemTimers } from "../../kit/timers.ts";
import type { AlertDeps } from "./deps.ts";
import { evaluateAlerts } from "./evaluation.ts";
import { deliverDue } from "./outbox.ts";

const NOW_MS = Date.UTC(2026, 10, 15, 9);

test("BILL-10 limit alerts are capped per workspace and hour, others are not, and failed deliveries are logged", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-alerts-"));
  const store = await openSqlite(folder, systemClock);
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const workspace = {
    ...{ id: "ws_1", slug: "one", name: "One", currency: "EUR", createdAtMs: 1, policy: OPEN_POLICY },
    keyPolicy: { personalKeys: true, approval: false, ipAllowlist: null },
  };
  await store.tenancy.saveWorkspace(workspace);
  const directory = new Directory();
  directory.putWorkspace(workspace);
  for (let n = 0; n < 120; n += 1)
    directory.limits.put({ workspaceId: "ws_1", of: "key", spenderId: `key_${n}`, dayNanos: 10n, monthNanos: null });
  const rules = { ...defaultAlertRules("ws_1", 1), lowBalanceNanos: 10n, mailTo: ["ada@example.eu"] };
  await store.change(async ({ alertRules }) => {
    await alertRules.save(rules);
    return { result: null, audit: null };
  });
  let nowMs = NOW_MS;
  const spent = { spentNanos: 10n, heldNanos: 0n };
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const monitor = new AlertMonitor();
  const warned: object[] = [];
  const deps: AlertDeps = {
    ...{ store: store.alerts, monitor, directory, clock, timers: systemTimers, ids: createIdGenerator(clock.nowMs) },
    state: {
      wallet: async () => ({ balanceNanos: 1n, heldNanos: 0n }),
      spending: async () => ({ day: spent, month: spent }),
    },
    ownKeys: { of: () => undefined },
    vault: openVault(new MasterKeys(Buffer.alloc(32, 3)), store.dataKeys),
    random: () => 0.5,
    post: async () => ({ is: "failed", why: "nobody is called here" }),
    mail: undefined,
    addressProblem: async () => undefined,
    retryPolicy: { baseDelayMs: 1, maxDelayMs: 1, attemptsMax: 1, ageMsMax: 1 },
    everyMs: HOUR_MS,
    onAttempt: () => undefined,
    warn: (detail) => void warned.push(detail),
  };
  monitor.putRules(rules);
  const look = async () => {
    await evaluateAlerts(deps);
    const { rows } = await store.alerts.deliveries("ws_1", 1000, null);
    return [rows.length, rows.filter(({ type }) => type === "balance.low").length];
  };
  expect(await look()).toEqual([100, 1]);
  expect(await look()).toEqual([100, 1]);
  nowMs += HOUR_MS + 1;
  expect(await look()).toEqual([121, 1]);
  expect(await look()).toEqual([121, 1]);
  expect(warned).toEqual([]);
  await deliverDue(deps, new AbortController().signal);
  expect(warned).toHaveLength(121);
  expect(warned[0]).toEqual({ workspace: "one", channel: "mail", delivery: expect.any(String) });
});
