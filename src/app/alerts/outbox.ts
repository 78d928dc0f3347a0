import type { Delivery } from "../../domain/alerts/alert-store.ts";
import { jitteredBackoffMs } from "../../kit/backoff.ts";
import { type SendResult, send } from "./channels.ts";
import type { AlertDeps } from "./deps.ts";

/** A slow receiver delays its batch, so a batch has only some deliveries of each workspace. */
const BATCH = { total: 32, perWorkspace: 4 };
/** The lease of an attempt, longer than any attempt: after a crash it is made again. */
const CLAIM_MS = 120_000;
/** How long final deliveries are listed. */
const RETENTION_MS = 30 * 86_400_000;

/** Delivers in batches until nothing is due. */
export async function deliverDue(deps: AlertDeps, signal: AbortSignal): Promise<void> {
  const { store, clock } = deps;
  while (!signal.aborted) {
    const due = await store.due(clock.nowMs(), BATCH);
    if (due.length === 0) break;
    await Promise.all(due.map((delivery) => attemptDelivery(deps, delivery, signal)));
  }
  await store.sweep(clock.nowMs() - RETENTION_MS);
}

/** The attempt is counted before it is made, so that a crash cannot repeat it forever. */
async function attemptDelivery(deps: AlertDeps, delivery: Delivery, signal: AbortSignal): Promise<void> {
  const { store, clock, onAttempt } = deps;
  const isSpent = delivery.attempts >= deps.retryPolicy.attemptsMax;
  if (!(await store.claim(delivery, clock.nowMs() + CLAIM_MS))) return;
  const sent: SendResult = isSpent
    ? { is: "failed", detail: delivery.lastError ?? "too many failed attempts", isRetryable: false }
    : await trySending(deps, delivery, signal);
  const end = outcomeOf(deps, { ...delivery, attempts: delivery.attempts + 1 }, sent);
  await store.conclude(delivery.id, end);
  onAttempt(delivery.channel, end.state === "waiting" ? "later" : end.state);
  if (end.state === "failed") warnGivenUp(deps, delivery);
}

function warnGivenUp({ directory, warn }: AlertDeps, { id, workspaceId, channel }: Delivery): void {
  const workspace = directory.workspace(workspaceId)?.slug ?? workspaceId;
  warn({ workspace, channel, delivery: id }, "alerts: delivery abandoned");
}

async function trySending(deps: AlertDeps, delivery: Delivery, signal: AbortSignal): Promise<SendResult> {
  try {
    return await send(deps, delivery, signal);
  } catch (error) {
    deps.warn({ err: error, delivery: delivery.id }, "alerts: delivery attempt failed");
    return { is: "failed", detail: "internal error; see the log of the gateway", isRetryable: true };
  }
}

function outcomeOf({ clock, retryPolicy, random }: AlertDeps, { createdAtMs, attempts }: Delivery, sent: SendResult) {
  const nowMs = clock.nowMs();
  if (sent.is === "delivered") return { state: "delivered", atMs: nowMs, lastError: null } as const;
  const nextMs = nowMs + jitteredBackoffMs(attempts, retryPolicy, random);
  const isOver = attempts >= retryPolicy.attemptsMax || nextMs - createdAtMs > retryPolicy.ageMsMax;
  if (!sent.isRetryable || isOver) return { state: "failed", atMs: nowMs, lastError: sent.detail } as const;
  return { state: "waiting", atMs: nextMs, lastError: sent.detail } as const;
}
