import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { OperatorEvent } from "../../io/telemetry/operator-events.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestTrace } from "./record.ts";

type SkipReason = Extract<OperatorEvent, { is: "endpoint_skipped" }>["why"];

export const SKIP_REASONS: Record<SkipReason, string> = {
  full: "skipped: at its concurrency limit",
  aside: "circuit opened since the plan was made: tried after the others",
  dear: "skipped: it may cost more than was held",
};

type SkipDeps = { readonly gateway: Pick<GatewayDeps, "clock" | "onNotice">; readonly trace: RequestTrace };

/** Records an endpoint that was skipped without an upstream call, and tells the operator. */
export function skipAttempt(deps: SkipDeps, attempt: Attempt, why: SkipReason): void {
  recordSkipped(deps, attempt, "next", SKIP_REASONS[why]);
  deps.gateway.onNotice({ is: "endpoint_skipped", provider: attempt.endpoint.provider, why });
}

export function recordSkipped(
  { gateway, trace }: SkipDeps,
  { endpoint, ownKey }: Attempt,
  outcome: "next" | "stop",
  reason: string,
): void {
  trace.addSkippedAttempt({
    endpoint: endpoint.id,
    provider: endpoint.provider,
    startedAtMs: gateway.clock.nowMs(),
    durationMs: 0,
    outcome,
    upstreamStatus: null,
    reason,
    maybeAccepted: false,
    ...(ownKey === undefined ? {} : { ownKey: true }),
  });
}
