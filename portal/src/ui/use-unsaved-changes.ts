import { useBlocker } from "@tanstack/react-router";

/** Confirms leaving a screen with unsaved changes; changes of the query string don't count. */
export function useUnsavedChanges(isChanged: boolean): void {
  useBlocker({
    disabled: !isChanged,
    enableBeforeUnload: isChanged,
    shouldBlockFn: ({ current, next }) =>
      current.pathname !== next.pathname && !confirm("Leave without saving? Your changes will be lost."),
  });
}
