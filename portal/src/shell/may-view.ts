import type { Me } from "../api/me.ts";
import type { Viewer } from "../screen.ts";

const RANKS = { member: 0, admin: 1, owner: 2 } as const;

/** What the sidebar shows and the palette finds. The server decides again on every call. */
export function mayView(allows: Viewer, me: Me | null, workspace: string): boolean {
  if (allows === "anyone") return true;
  if (me === null) return false;
  if (allows === "person" || me.operator) return true;
  if (allows === "operator") return false;
  const role = me.workspaces.find((one) => one.slug === workspace)?.role;
  return role !== undefined && RANKS[role] >= RANKS[allows];
}
