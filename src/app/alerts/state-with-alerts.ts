import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { AlertWatch } from "../../domain/alerts/alert-monitor.ts";
import { chain } from "../../kit/maybe-promise.ts";

/** The same state, which leaves a note where somebody wants to be told: of refusals by a limit, and of money that came. */
export function watchedState(state: SharedState, watch: AlertWatch): SharedState {
  return {
    ...state,
    hold(request) {
      if (watch.isIdle) return state.hold(request);
      return chain(state.hold(request), (verdict) => {
        if (verdict.is === "spend_limit_reached") watch.refused(request, verdict.limit);
        return verdict;
      });
    },
    async credit(workspaceId, nanos, booking) {
      await state.credit(workspaceId, nanos, booking);
      watch.touch(workspaceId);
    },
  };
}
