import type { Delivery } from "../../domain/alerts/alert-store.ts";
import { jitteredBackoffMs } from "../../kit/backoff.ts";
import { type Sent, send } from "./channels.ts";
import type { AlertDeps } from "./deps.ts";

/** A receiver that takes its time holds up the rest of its round: of one workspace there are only some in each. */
const ROUND = { inAll: 32, perWorkspace: 4 };
/** Longer than any try takes: after it a try whose process died is made again. */
const CLAIM_MS = 120_000;
/** How long it can be looked up what became of a delivery. */
const KEPT_MS = 30 * 86_400_000;

/** Sends what is due, some at a time, until nothing is. */
export async function deliver(deps: AlertDeps, signal: AbortSignal): Promise<void> {
  const { store, clock } = deps;
  while (!signal.aborted) {
    const due = await store.due(clock.nowMs(), ROUND);
    if (due.length === 0) break;
    await Promise.all(due.map((delivery) => attempt(deps, delivery, signal)));
  }
  await store.sweep(clock.nowMs() - KEPT_MS);
}

/** The try is counted before it is made: a process that dies in it does not make it for ever. */
async function attempt(deps: AlertDeps, delivery: Delivery, signal: AbortSignal): Promise<void> {
  const { store, clock, tried } = deps;
  const isSpent = delivery.attempts >= deps.patience.attemptsMax;
  if (!(await store.claim(delivery, clock.nowMs() + CLAIM_MS))) return;
  const sent: Sent = isSpent
    ? { is: "failed", detail: delivery.lastError ?? "it was tried too often", again: "never" }
    : await trySending(deps, delivery, signal);
  const end = endOf(deps, { ...delivery, attempts: delivery.attempts + 1 }, sent);
  await store.conclude(delivery.id, end);
  tried(delivery.channel, end.state === "waiting" ? "later" : end.state);
  if (end.state === "failed") warnOf(deps, delivery);
}

function warnOf({ directory, warn }: AlertDeps, { id, workspaceId, channel }: Delivery): void {
  const workspace = directory.workspace(workspaceId)?.slug ?? workspaceId;
  warn({ workspace, channel, delivery: id }, "an alert of a workspace was given up: its deliveries say why");
}

async function trySending(deps: AlertDeps, delivery: Delivery, signal: AbortSignal): Promise<Sent> {
  try {
    return await send(deps, delivery, signal);
  } catch (error) {
    deps.warn({ err: error, delivery: delivery.id }, "an alert could not be sent");
    return { is: "failed", detail: "the gateway could not send it; its own log says why", again: "later" };
  }
}

function endOf({ clock, patience, random }: AlertDeps, { createdAtMs, attempts }: Delivery, sent: Sent) {
  const nowMs = clock.nowMs();
  if (sent.is === "delivered") return { state: "delivered", atMs: nowMs, lastError: null } as const;
  const nextMs = nowMs + jitteredBackoffMs(attempts, patience, random);
  const isOver = attempts >= patience.attemptsMax || nextMs - createdAtMs > patience.ageMsMax;
  if (sent.again === "never" || isOver) return { state: "failed", atMs: nowMs, lastError: sent.detail } as const;
  return { state: "waiting", atMs: nextMs, lastError: sent.detail } as const;
}
