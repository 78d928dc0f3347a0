import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { AlertMonitor } from "../../domain/alerts/alert-monitor.ts";

/** Marks workspaces for alert evaluation when their balance is credited. */
export function stateWithAlerts(state: SharedState, monitor: AlertMonitor): SharedState {
  return {
    ...state,
    async credit(workspaceId, nanos, booking) {
      await state.credit(workspaceId, nanos, booking);
      monitor.markDirty(workspaceId);
    },
  };
}
