import type { Delivery } from "../../domain/alerts/alert-store.ts";
import { jitteredBackoffMs } from "../../kit/backoff.ts";
import { type SendResult, send } from "./channels.ts";
import type { AlertDeps } from "./deps.ts";

/** A receiver that takes its time holds up the rest of its round: of one workspace there are only some in each. */
const BATCH = { inAll: 32, perWorkspace: 4 };
/** Longer than any try takes: after it a try whose process died is made again. */
const CLAIM_MS = 120_000;
/** How long it can be looked up what became of a delivery. */
const RETENTION_MS = 30 * 86_400_000;

/** Sends what is due, some at a time, until nothing is. */
export async function deliverDue(deps: AlertDeps, signal: AbortSignal): Promise<void> {
  const { store, clock } = deps;
  while (!signal.aborted) {
    const due = await store.due(clock.nowMs(), BATCH);
    if (due.length === 0) break;
    await Promise.all(due.map((delivery) => attemptDelivery(deps, delivery, signal)));
  }
  await store.sweep(clock.nowMs() - RETENTION_MS);
}

/** The try is counted before it is made: a process that dies in it does not make it for ever. */
async function attemptDelivery(deps: AlertDeps, delivery: Delivery, signal: AbortSignal): Promise<void> {
  const { store, clock, onAttempt } = deps;
  const isSpent = delivery.attempts >= deps.patience.attemptsMax;
  if (!(await store.claim(delivery, clock.nowMs() + CLAIM_MS))) return;
  const sent: SendResult = isSpent
    ? { is: "failed", detail: delivery.lastError ?? "it was tried too often", again: "never" }
    : await trySending(deps, delivery, signal);
  const end = outcomeOf(deps, { ...delivery, attempts: delivery.attempts + 1 }, sent);
  await store.conclude(delivery.id, end);
  onAttempt(delivery.channel, end.state === "waiting" ? "later" : end.state);
  if (end.state === "failed") warnGivenUp(deps, delivery);
}

function warnGivenUp({ directory, warn }: AlertDeps, { id, workspaceId, channel }: Delivery): void {
  const workspace = directory.workspace(workspaceId)?.slug ?? workspaceId;
  warn({ workspace, channel, delivery: id }, "an alert of a workspace was given up: its deliveries say why");
}

async function trySending(deps: AlertDeps, delivery: Delivery, signal: AbortSignal): Promise<SendResult> {
  try {
    return await send(deps, delivery, signal);
  } catch (error) {
    deps.warn({ err: error, delivery: delivery.id }, "an alert could not be sent");
    return { is: "failed", detail: "the gateway could not send it; its own log says why", again: "later" };
  }
}

function outcomeOf({ clock, patience, random }: AlertDeps, { createdAtMs, attempts }: Delivery, sent: SendResult) {
  const nowMs = clock.nowMs();
  if (sent.is === "delivered") return { state: "delivered", atMs: nowMs, lastError: null } as const;
  const nextMs = nowMs + jitteredBackoffMs(attempts, patience, random);
  const isOver = attempts >= patience.attemptsMax || nextMs - createdAtMs > patience.ageMsMax;
  if (sent.again === "never" || isOver) return { state: "failed", atMs: nowMs, lastError: sent.detail } as const;
  return { state: "waiting", atMs: nextMs, lastError: sent.detail } as const;
}
