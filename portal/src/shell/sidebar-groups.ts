import { useState } from "react";
import { GROUPS, type Group } from "../screen.ts";

/** More links than this are hard to scan. */
export const ENTRIES_MAX = 14;

type GroupSize = { readonly group: Group; readonly count: number };

/** The groups that fit, those opened last first: opening one closes the least recently opened ones. */
export function fittingGroups(sizes: readonly GroupSize[], opened: readonly Group[], max: number): ReadonlySet<Group> {
  const countOf = new Map(sizes.map(({ group, count }) => [group, count]));
  const fitting = new Set<Group>();
  let left = max;
  for (const group of opened) {
    const count = countOf.get(group);
    if (count === undefined || count > left) continue;
    left -= count;
    fitting.add(group);
  }
  return fitting;
}

const KEY = "sidebar-groups";

/** Groups in the order in which they were opened, the last one first; kept in the browser. */
export function useOpenedGroups(): {
  readonly opened: readonly Group[];
  readonly setOpen: (group: Group, isOpen: boolean) => void;
} {
  const [opened, setOpened] = useState(storedGroups);
  const setOpen = (group: Group, isOpen: boolean) =>
    setOpened((before) => {
      const others = before.filter((one) => one !== group);
      const next = isOpen ? [group, ...others] : others;
      localStorage.setItem(KEY, next.join(" "));
      return next;
    });
  return { opened, setOpen };
}

function storedGroups(): readonly Group[] {
  const stored = localStorage.getItem(KEY);
  if (stored === null) return GROUPS;
  return stored.split(" ").flatMap((name) => GROUPS.filter((group) => group === name));
}
