import { useEffect } from "react";
import type { Me } from "../api/me.ts";

const KEY = "workspace";

/** The workspace of the address, or the one that was looked at last: pages outside a workspace keep the sidebar's. */
export function useLastWorkspace(inPath: string, me: Me | null): string {
  useEffect(() => {
    if (inPath !== "") localStorage.setItem(KEY, inPath);
  }, [inPath]);
  return inPath !== "" ? inPath : me === null ? "" : lastWorkspace(me);
}

export function lastWorkspace(me: Me): string {
  const kept = localStorage.getItem(KEY) ?? "";
  const isMine = me.workspaces.some(({ slug }) => slug === kept);
  return isMine || (me.operator && kept !== "") ? kept : (me.workspaces[0]?.slug ?? "");
}
