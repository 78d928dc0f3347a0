import { useEffect } from "react";
import { useManage } from "../api/hooks.ts";
import type { Me } from "../api/me.ts";

const KEY = "workspace";

/** The workspace of the address, or the one that was looked at last: pages outside a workspace keep the sidebar's. */
export function useLastWorkspace(inPath: string, me: Me | null): string {
  const { is } = useStanding(inPath, me);
  useEffect(() => {
    if (is === "there") localStorage.setItem(KEY, inPath);
    else if (is === "missing" && localStorage.getItem(KEY) === inPath) localStorage.removeItem(KEY);
  }, [is, inPath]);
  return inPath !== "" && is !== "missing" ? inPath : me === null ? "" : lastWorkspace(me);
}

export function lastWorkspace(me: Me): string {
  const kept = localStorage.getItem(KEY) ?? "";
  return isMember(me, kept) || (me.operator && kept !== "") ? kept : (me.workspaces[0]?.slug ?? "");
}

type Standing = { readonly is: "there" | "missing" | "unknown"; readonly name: string };

/** Whether there is a workspace of this name for whoever looks. Members know theirs; an operator has to ask. */
export function useStanding(workspace: string, me: Me | null): Standing {
  const mine = me?.workspaces.find(({ slug }) => slug === workspace);
  const asks = me?.operator === true && mine === undefined && workspace !== "";
  const { data, error } = useManage("manageShowWorkspace", { params: { workspace } }, { enabled: asks });
  if (mine !== undefined) return { is: "there", name: mine.name };
  if (asks && data !== undefined) return { is: "there", name: data.name };
  const isMissing = workspace !== "" && me !== null && (!me.operator || error?.status === 404);
  return { is: isMissing ? "missing" : "unknown", name: workspace };
}

function isMember(me: Me, workspace: string): boolean {
  return me.workspaces.some(({ slug }) => slug === workspace);
}
