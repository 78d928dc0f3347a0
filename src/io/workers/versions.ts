import type { SharedState } from "../../domain/admission/admission.ts";
import { chain } from "../../kit/maybe-promise.ts";

/** The same state, whose windows tell which version of a workspace is the newest: a new word each time it is touched. */
export function withVersions(state: SharedState, word: () => string): SharedState {
  /** Of workspaces that nobody touched since the start: whoever started then has read them as they are. */
  const first = word();
  const versions = new Map<string, string>();
  const versionOf = (workspaceId: string) => versions.get(workspaceId) ?? first;
  return {
    ...state,
    window: (key, limit) =>
      chain(state.window(key, limit), (verdict) => ({ ...verdict, version: versionOf(key.workspaceId) })),
    look: (key, limit) =>
      chain(state.look(key, limit), (verdict) => ({ ...verdict, version: versionOf(key.workspaceId) })),
    async touch(workspaceId) {
      versions.set(workspaceId, word());
    },
  };
}
