import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import { BackgroundJobs } from "./background-jobs.ts";
import type { AuditDeps, ResponsesContext } from "./responses-context.ts";
import type { ResponsesDeps } from "./responses-deps.ts";

/** Wraps the pipeline's dependencies with stored responses and background jobs. */
export function openResponses(
  base: Omit<ResponsesDeps, "mayKeep"> & AuditDeps,
  gateway: GatewayDeps,
): ResponsesContext {
  const mayKeep = (workspaceId: string, keyId: string) =>
    gateway.policyOf(workspaceId, keyId)?.zeroDataRetention === false;
  const deps: ResponsesDeps & AuditDeps = { ...base, mayKeep };
  const jobs = new BackgroundJobs(deps);
  const { journal, idempotency, state } = gateway;
  return {
    ...deps,
    jobs,
    gateway: {
      ...gateway,
      idempotency: {
        ...idempotency,
        async storedReply(workspaceId, requestId) {
          const stored = await deps.store.find(workspaceId, requestId, deps.clock.nowMs());
          if (stored === undefined) return undefined;
          return { text: await deps.json.stringify(stored.response, workspaceId), headers: stored.servedBy ?? {} };
        },
      },
      beforeSettlement: (requestId, completeness) => jobs.claimEnd(requestId, completeness),
      state: {
        ...state,
        settle: (hold, nanos) =>
          nanos === 0n && jobs.isTakenOver(hold.requestId) ? state.handOver(hold) : state.settle(hold, nanos),
        releaseClaim: (key, requestId) =>
          jobs.isTakenOver(requestId) ? undefined : state.releaseClaim(key, requestId),
      },
      journal: {
        // A job abandoned at shutdown writes no uncharged record, as after a crash, so that the next start runs it again.
        // The same holds for a job that another instance has taken over before this one sent output.
        append: (entry) =>
          entry.t === "done" && entry.record.charge === null && jobs.isUnrecorded(entry.record.id)
            ? Promise.resolve()
            : journal.append(entry),
        get isBroken() {
          return journal.isBroken;
        },
        get isBehind() {
          return journal.isBehind;
        },
        close: () => journal.close(),
      },
    },
  };
}
