import { eventOf } from "../../domain/alerts/alert-event.ts";
import type { Touched } from "../../domain/alerts/alert-monitor.ts";
import type { Delivery, Fired } from "../../domain/alerts/alert-store.ts";
import { type Crossing, judge } from "../../domain/alerts/evaluate-rules.ts";
import type { Workspace } from "../../domain/tenancy/workspace.ts";
import { type Receiver, receiversOf } from "./channels.ts";
import type { AlertDeps } from "./deps.ts";
import { factsOf, namesIn } from "./facts.ts";

/** Whoever changes limits or keys in a loop writes no more mails than this by it. */
const ALERTS_MAX = 100;
const ALERTS_SPAN_MS = 3_600_000;

/** Looks at every workspace that changed; answers whether there is something to send. */
export async function evaluate(deps: AlertDeps): Promise<"told" | "nothing"> {
  let found: "told" | "nothing" = "nothing";
  for (const [workspaceId, touched] of deps.watch.take()) {
    try {
      if ((await look(deps, workspaceId, touched)) === "told") found = "told";
    } catch (error) {
      deps.watch.giveBack(workspaceId, touched);
      deps.warn({ err: error, workspace: workspaceId }, "alerts of a workspace could not be looked at yet");
    }
  }
  return found;
}

async function look(deps: AlertDeps, workspaceId: string, touched: Touched): Promise<"told" | "nothing"> {
  const { watch, directory, store, clock } = deps;
  const rules = watch.of(workspaceId);
  const workspace = directory.workspace(workspaceId);
  if (rules === undefined || workspace === undefined) return "nothing";
  // Without a receiver nothing counts as told: whoever is named later learns of it then.
  const receivers = receiversOf(rules, directory);
  if (receivers.length === 0) return "nothing";
  const nowMs = clock.nowMs();
  const facts = await factsOf(deps, workspaceId, touched, nowMs);
  const { crossed, over } = judge(rules, facts, await store.standing(workspaceId));
  if (crossed.length === 0 && over.length === 0) return "nothing";
  const room = ALERTS_MAX - (await store.toldSince(workspaceId, nowMs - ALERTS_SPAN_MS));
  const [now, later] = withinRoom(crossed, Math.max(0, room));
  const fired = now.map((crossing) => firedOf(deps, workspace, crossing, receivers, nowMs));
  await store.turn(workspaceId, over, fired, nowMs);
  if (later.length > 0) watch.giveBack(workspaceId, touched);
  return fired.some(({ deliveries }) => deliveries.length > 0) ? "told" : "nothing";
}

/** What is too much now does not count as told, and is told later where it is still so. */
function withinRoom(crossed: readonly Crossing[], room: number): readonly [now: Crossing[], later: Crossing[]] {
  const told = crossed.filter(({ happening }) => happening !== null);
  // Limits are what there can be many of: they do not push out the rest.
  const isLimit = ({ happening }: Crossing) => happening?.is === "limit_reached";
  const later = new Set([...told.filter((one) => !isLimit(one)), ...told.filter(isLimit)].slice(room));
  return [crossed.filter((crossing) => !later.has(crossing)), [...later]];
}

function firedOf(
  { ids, directory }: AlertDeps,
  workspace: Workspace,
  { subject, mark, happening }: Crossing,
  receivers: readonly Receiver[],
  atMs: number,
): Fired {
  const alertId = ids.next("alert_");
  if (happening === null) return { subject, mark, alertId, deliveries: [] };
  const event = eventOf({ id: alertId, atMs, workspace }, happening, namesIn(directory, workspace.id, happening));
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
