import { type Fault, fault } from "../../contract/faults.ts";
import type { QueueRejection } from "../../domain/admission/admission-queue.ts";
import type { ResponseSink } from "../exchange.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestTrace } from "./request-trace.ts";

/** Waits for a place in the queue; `left` when the client hung up before there was one. Throws when none came free. */
export async function waitForSlot(
  gateway: GatewayDeps,
  trail: RequestTrace,
  sink: ResponseSink,
): Promise<"served" | "left"> {
  const { clock, queue } = gateway;
  const sinceMs = clock.monotonicMs();
  const waiting = queue.enqueue(trail.principal.workspace.id);
  sink.onDisconnect(() => waiting.cancel());
  const end = await waiting.admission;
  if (end === "served" || end === "left") return end;
  gateway.onNotice({ is: "turned_away", why: end });
  throw queueFault(end, Math.round(clock.monotonicMs() - sinceMs), gateway.limits.queueWaitMs);
}

function queueFault(end: Exclude<QueueRejection, "left">, waitedMs: number, waitMs: number): Fault {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const what =
    end === "full"
      ? "The gateway serves as many requests as it may, and its queue is full."
      : `The gateway serves as many requests as it may, and no place came free in ${waitedMs} ms.`;
  return fault("rate_limit_exceeded", {
    message: `${what} Try again in ${seconds} s.`,
    headers: { "retry-after": String(seconds) },
  });
}
