import { useEffect } from "react";
import { useManage } from "../api/hooks.ts";
import type { Me } from "../api/me.ts";

const KEY = "workspace";

/** The workspace of the URL, or the last visited one for pages outside a workspace. */
export function useLastWorkspace(inPath: string, me: Me | null): string {
  const { state } = useWorkspaceAccess(inPath, me);
  useEffect(() => {
    if (state === "found") localStorage.setItem(KEY, inPath);
    else if (state === "missing" && localStorage.getItem(KEY) === inPath) localStorage.removeItem(KEY);
  }, [state, inPath]);
  return inPath !== "" && state !== "missing" ? inPath : me === null ? "" : lastWorkspace(me);
}

export function lastWorkspace(me: Me): string {
  const stored = localStorage.getItem(KEY) ?? "";
  return isMember(me, stored) || (me.operator && stored !== "") ? stored : (me.workspaces[0]?.slug ?? "");
}

type WorkspaceAccess = { readonly state: "found" | "missing" | "unknown"; readonly name: string };

/** Whether the person can access the workspace. Operators need a request to find out. */
export function useWorkspaceAccess(workspace: string, me: Me | null): WorkspaceAccess {
  const membership = me?.workspaces.find(({ slug }) => slug === workspace);
  const needsLookup = me?.operator === true && membership === undefined && workspace !== "";
  const { data, error } = useManage("manageShowWorkspace", { params: { workspace } }, { enabled: needsLookup });
  if (membership !== undefined) return { state: "found", name: membership.name };
  if (needsLookup && data !== undefined) return { state: "found", name: data.name };
  const isMissing = workspace !== "" && me !== null && (!me.operator || error?.status === 404);
  return { state: isMissing ? "missing" : "unknown", name: workspace };
}

function isMember(me: Me, workspace: string): boolean {
  return me.workspaces.some(({ slug }) => slug === workspace);
}
