import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { AlertMonitor } from "../../domain/alerts/alert-monitor.ts";
import { chain } from "../../kit/maybe-promise.ts";

/** The same state, which leaves a note where somebody wants to be told: of refusals by a limit, and of money that came. */
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
