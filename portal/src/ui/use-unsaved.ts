import { useBlocker } from "@tanstack/react-router";

/** Asks before somebody leaves a screen with changes that are not saved. Tabs and filters of the screen are no leaving. */
export function useUnsaved(isChanged: boolean): void {
  useBlocker({
    disabled: !isChanged,
    enableBeforeUnload: isChanged,
    shouldBlockFn: ({ current, next }) =>
      current.pathname !== next.pathname && !confirm("Leave without saving? Your changes are lost."),
  });
}
