import { buildAlertEvent } from "../../domain/alerts/alert-event.ts";
import type { AlertSignals } from "../../domain/alerts/alert-monitor.ts";
import type { Delivery, FiredAlert } from "../../domain/alerts/alert-store.ts";
import { evaluateRules, type NewAlert } from "../../domain/alerts/evaluate-rules.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import { type Receiver, receiversOf } from "./channels.ts";
import type { AlertDeps } from "./deps.ts";
import { factsOf, namesIn } from "./facts.ts";

/** Whoever changes limits or keys in a loop writes no more mails than this by it. */
const ALERTS_MAX = 100;
const ALERTS_WINDOW_MS = 3_600_000;

/** Looks at every workspace that changed; answers whether there is something to send. */
export async function evaluateAlerts(deps: AlertDeps): Promise<"told" | "nothing"> {
  let found: "told" | "nothing" = "nothing";
  for (const [workspaceId, touched] of deps.monitor.drain()) {
    try {
      if ((await evaluateWorkspace(deps, workspaceId, touched)) === "told") found = "told";
    } catch (error) {
      deps.monitor.requeue(workspaceId, touched);
      deps.warn({ err: error, workspace: workspaceId }, "alerts of a workspace could not be looked at yet");
    }
  }
  return found;
}

async function evaluateWorkspace(
  deps: AlertDeps,
  workspaceId: string,
  touched: AlertSignals,
): Promise<"told" | "nothing"> {
  const { monitor, directory, store, clock } = deps;
  const rules = monitor.rulesOf(workspaceId);
  const workspace = directory.workspace(workspaceId);
  if (rules === undefined || workspace === undefined) return "nothing";
  // Without a receiver nothing counts as told: whoever is named later learns of it then.
  const receivers = receiversOf(rules, directory);
  if (receivers.length === 0) return "nothing";
  const nowMs = clock.nowMs();
  const facts = await factsOf(deps, workspaceId, touched, nowMs);
  const { raised, cleared } = evaluateRules(rules, facts, await store.activeAlerts(workspaceId));
  if (raised.length === 0 && cleared.length === 0) return "nothing";
  const room = ALERTS_MAX - (await store.countAlertsSince(workspaceId, nowMs - ALERTS_WINDOW_MS));
  const [now, later] = splitByQuota(raised, Math.max(0, room));
  const fired = now.map((crossing) => fireAlert(deps, workspace, crossing, receivers, nowMs));
  await store.recordTransitions(workspaceId, cleared, fired, nowMs);
  if (later.length > 0) monitor.requeue(workspaceId, touched);
  return fired.some(({ deliveries }) => deliveries.length > 0) ? "told" : "nothing";
}

/** What is too much now does not count as told, and is told later where it is still so. */
function splitByQuota(crossed: readonly NewAlert[], room: number): readonly [now: NewAlert[], later: NewAlert[]] {
  const told = crossed.filter(({ condition }) => condition !== null);
  // Limits are what there can be many of: they do not push out the rest.
  const isLimit = ({ condition }: NewAlert) => condition?.is === "limit_reached";
  const later = new Set([...told.filter((one) => !isLimit(one)), ...told.filter(isLimit)].slice(room));
  return [crossed.filter((crossing) => !later.has(crossing)), [...later]];
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
    namesIn(directory, workspace.id, condition),
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
