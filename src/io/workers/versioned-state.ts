import type { SharedState } from "../../domain/admission/shared-state.ts";
import { chain } from "../../kit/maybe-promise.ts";

/** The same state, whose windows tell which version of a workspace is the newest: a new word each time it is touched. */
export function versionedState(state: SharedState, word: () => string): SharedState {
  /** Of workspaces that nobody touched since the start: whoever started then has read them as they are. */
  const first = word();
  const versions = new Map<string, string>();
  const versionOf = (workspaceId: string) => versions.get(workspaceId) ?? first;
  return {
    ...state,
    consumeRateWindow: (key, limit) =>
      chain(state.consumeRateWindow(key, limit), (verdict) => ({ ...verdict, version: versionOf(key.workspaceId) })),
    peekRateWindow: (key, limit) =>
      chain(state.peekRateWindow(key, limit), (verdict) => ({ ...verdict, version: versionOf(key.workspaceId) })),
    async bumpVersion(workspaceId) {
      versions.set(workspaceId, word());
    },
  };
}
