import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import { Jobs } from "./background-jobs.ts";
import type { Audited, ResponsesRoom } from "./responses-context.ts";
import type { ResponsesDeps } from "./responses-deps.ts";

/** Stored responses and background work on top of the request path. */
export function openResponses(given: Omit<ResponsesDeps, "mayKeep"> & Audited, gateway: GatewayDeps): ResponsesRoom {
  const mayKeep = (workspaceId: string, keyId: string) =>
    gateway.policyOf(workspaceId, keyId)?.zeroDataRetention === false;
  const deps: ResponsesDeps & Audited = { ...given, mayKeep };
  const jobs = new Jobs(deps);
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
          return { text: JSON.stringify(stored.response), headers: stored.servedBy ?? {} };
        },
      },
      beforeSettlement: (requestId, made) => jobs.takeEnd(requestId, made),
      state: {
        ...state,
        settle: (hold, nanos) =>
          nanos === 0n && jobs.isTakenUp(hold.requestId) ? state.handOver(hold) : state.settle(hold, nanos),
        releaseClaim: (key, requestId) => (jobs.isTakenUp(requestId) ? undefined : state.releaseClaim(key, requestId)),
      },
      journal: {
        // Work that was given up at the end of the process leaves no trace but its row, as if the process had been
        // killed: the next start runs it again. So does what another instance works on before anything was told here.
        // What was charged is always written.
        append: (entry) =>
          entry.t === "done" && entry.record.charge === null && jobs.isUnrecorded(entry.record.id)
            ? Promise.resolve()
            : journal.append(entry),
        get isBroken() {
          return journal.isBroken;
        },
        close: () => journal.close(),
      },
    },
  };
}
