import { buildAlertEvent, NO_SPENDER_NAMES, type SpenderNames } from "../../domain/alerts/alert-event.ts";
import { type AlertSignals, limitSignalKey } from "../../domain/alerts/alert-monitor.ts";
import type { Delivery, FiredAlert } from "../../domain/alerts/alert-store.ts";
import {
  type AlertCondition,
  type AlertFacts,
  evaluateRules,
  type LimitUsage,
  type NewAlert,
  type OwnKeyStatus,
} from "../../domain/alerts/evaluate-rules.ts";
import type { SpendLimits } from "../../domain/tenancy/limits.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import { dayName, spanOf } from "../../kit/calendar.ts";
import { type Receiver, receiversOf } from "./channels.ts";
import type { AlertDeps } from "./deps.ts";

/** Alerts per workspace and hour, so that changing limits or keys in a loop cannot flood receivers. */
const ALERTS_MAX = 100;
const ALERTS_WINDOW_MS = 3_600_000;

/** Evaluates all marked workspaces; returns whether it queued deliveries. */
export async function evaluateAlerts(deps: AlertDeps): Promise<boolean> {
  let hasDeliveries = false;
  for (const [workspaceId, signals] of deps.monitor.drain()) {
    try {
      if (await evaluateWorkspace(deps, workspaceId, signals)) hasDeliveries = true;
    } catch (error) {
      deps.monitor.requeue(workspaceId, signals);
      deps.warn({ err: error, workspace: workspaceId }, "alerts: evaluation failed, will be retried");
    }
  }
  return hasDeliveries;
}

async function evaluateWorkspace(deps: AlertDeps, workspaceId: string, signals: AlertSignals): Promise<boolean> {
  const { monitor, directory, store, clock } = deps;
  const rules = monitor.rulesOf(workspaceId);
  const workspace = directory.workspace(workspaceId);
  if (rules === undefined || workspace === undefined) return false;
  // Without a receiver no alert is recorded, so that a receiver added later still gets it.
  const receivers = receiversOf(rules, directory);
  if (receivers.length === 0) return false;
  const nowMs = clock.nowMs();
  const facts = await collectFacts(deps, workspaceId, signals, nowMs);
  const { raised, cleared } = evaluateRules(rules, facts, await store.activeAlerts(workspaceId));
  if (raised.length === 0 && cleared.length === 0) return false;
  const quota = ALERTS_MAX - (await store.countAlertsSince(workspaceId, nowMs - ALERTS_WINDOW_MS));
  const [now, later] = splitByQuota(raised, Math.max(0, quota));
  const fired = now.map((alert) => fireAlert(deps, workspace, alert, receivers, nowMs));
  await store.recordTransitions(workspaceId, cleared, fired, nowMs);
  if (later.length > 0) monitor.requeue(workspaceId, signals);
  return fired.some(({ deliveries }) => deliveries.length > 0);
}

/** Alerts beyond the quota are not recorded, and fire later if their condition still holds. */
function splitByQuota(raised: readonly NewAlert[], quota: number): readonly [now: NewAlert[], later: NewAlert[]] {
  const sent = raised.filter(({ condition }) => condition !== null);
  // Limit alerts come last, because there can be many of them.
  const isLimit = ({ condition }: NewAlert) => condition?.is === "limit_reached";
  const later = new Set([...sent.filter((alert) => !isLimit(alert)), ...sent.filter(isLimit)].slice(quota));
  return [raised.filter((alert) => !later.has(alert)), [...later]];
}

function fireAlert(
  { ids, directory }: AlertDeps,
  workspace: Workspace,
  { subject, mark, condition }: NewAlert,
  receivers: readonly Receiver[],
  atMs: number,
): FiredAlert {
  const alertId = ids.next("alert_");
  if (condition === null) return { subject, mark, alertId, deliveries: [] };
  const event = buildAlertEvent(
    { id: alertId, atMs, workspace },
    condition,
    spenderNamesOf(directory, workspace.id, condition),
  );
  const payload = JSON.stringify(event);
  const deliveries = receivers.map(
    (receiver): Delivery => ({
      ...receiver,
      id: ids.next("dlv_"),
      alertId,
      workspaceId: workspace.id,
      type: event.type,
      payload,
      createdAtMs: atMs,
      state: "waiting",
      attempts: 0,
      atMs,
      lastError: null,
    }),
  );
  return { subject, mark, alertId, deliveries };
}

type FactSources = Pick<AlertDeps, "state" | "directory" | "ownKeys">;

/** The current state of a workspace, from the state that requests are admitted by. */
async function collectFacts(
  sources: FactSources,
  workspaceId: string,
  signals: AlertSignals,
  nowMs: number,
): Promise<AlertFacts> {
  const { state, directory } = sources;
  const { balanceNanos } = await state.wallet(workspaceId);
  const limits: LimitUsage[] = [];
  for (const spendLimits of directory.limits.inWorkspace(workspaceId))
    limits.push(...(await limitUsages(sources, spendLimits, signals, nowMs)));
  const dataClasses = [...signals.dataClasses].map(([name, requests]) => ({ name, requests }));
  const day = dayName(spanOf("day", nowMs).firstDay);
  return { day, dataClasses, balanceNanos, limits, keys: ownKeyStatuses(sources, workspaceId, signals) };
}

async function limitUsages(
  { state }: FactSources,
  { workspaceId, of, spenderId, dayNanos, monthNanos }: SpendLimits,
  signals: AlertSignals,
  nowMs: number,
): Promise<LimitUsage[]> {
  const spending = await state.spending({ id: spenderId, workspaceId }, nowMs);
  const usages: LimitUsage[] = [];
  for (const [per, limitNanos] of [["day", dayNanos] as const, ["month", monthNanos] as const]) {
    if (limitNanos === null) continue;
    const { spentNanos } = spending[per];
    const period = dayName(spanOf(per, nowMs).firstDay);
    const refused = signals.limits.has(limitSignalKey(spenderId, per));
    usages.push({ of, spenderId, per, period, limitNanos, spentNanos, refused });
  }
  return usages;
}

/** The mark changes when a key is replaced or tested, so that a new refusal is alerted again. */
function ownKeyStatuses({ ownKeys }: FactSources, workspaceId: string, signals: AlertSignals): OwnKeyStatus[] {
  const keys = ownKeys.of(workspaceId)?.keys.values() ?? [];
  return [...keys].map(({ key: { provider, fingerprint, testedAtMs } }) => ({
    provider,
    mark: `${fingerprint}/${testedAtMs ?? ""}`,
    status: signals.keys.get(provider),
  }));
}

/** Names the newest key of a rotation chain. */
function spenderNamesOf(
  directory: AlertDeps["directory"],
  workspaceId: string,
  condition: AlertCondition,
): SpenderNames {
  if (condition.is !== "limit_reached") return NO_SPENDER_NAMES;
  const { of, spenderId } = condition.limit;
  if (of === "member") return { ...NO_SPENDER_NAMES, member: directory.member(spenderId)?.email ?? null };
  if (of === "workspace") return NO_SPENDER_NAMES;
  const key = directory.keys(workspaceId).findLast(({ id }) => directory.rotationRootOf(id) === spenderId);
  return { ...NO_SPENDER_NAMES, key: key?.id ?? null, keyName: key?.name ?? null };
}
