import { type Fault, fault } from "../../contract/faults.ts";
import type { QueueRejection } from "../../domain/admission/fair-queue.ts";
import type { ResponseSink } from "../exchange.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestTrace } from "./record.ts";

/** Waits for a free slot; `left`: the client disconnected first. Throws when the queue is full or the wait times out. */
export async function waitForSlot(
  gateway: GatewayDeps,
  trace: RequestTrace,
  sink: ResponseSink,
): Promise<"served" | "left"> {
  const { clock, queue } = gateway;
  const sinceMs = clock.monotonicMs();
  const entry = queue.enqueue(trace.principal.workspace.id);
  sink.onDisconnect(() => entry.cancel());
  const end = await entry.admission;
  if (end === "served" || end === "left") return end;
  gateway.onNotice({ is: "queue_rejected", why: end });
  throw queueFault(end, Math.round(clock.monotonicMs() - sinceMs), gateway.limits.queueWaitMs);
}

function queueFault(end: Exclude<QueueRejection, "left">, waitedMs: number, waitMs: number): Fault {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const what =
    end === "full"
      ? "The gateway is at its concurrency limit, and its queue is full."
      : `The gateway is at its concurrency limit, and no slot became free within ${waitedMs} ms.`;
  return fault("rate_limit_exceeded", {
    message: `${what} Try again in ${seconds} s.`,
    headers: { "retry-after": String(seconds) },
  });
}
