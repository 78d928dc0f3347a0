import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { AlertMonitor } from "../../domain/alerts/alert-monitor.ts";
import { chain } from "../../kit/maybe-promise.ts";

/** Marks workspaces for alert evaluation when a limit refuses a request or the balance is credited. */
export function stateWithAlerts(state: SharedState, monitor: AlertMonitor): SharedState {
  return {
    ...state,
    hold(request) {
      if (monitor.isIdle) return state.hold(request);
      return chain(state.hold(request), (verdict) => {
        if (verdict.is === "spend_limit_reached") monitor.recordLimitRefusal(request, verdict.limit);
        return verdict;
      });
    },
    async credit(workspaceId, nanos, booking) {
      await state.credit(workspaceId, nanos, booking);
      monitor.markDirty(workspaceId);
    },
  };
}
