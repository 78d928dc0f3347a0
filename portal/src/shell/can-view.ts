import type { Me } from "../api/me.ts";
import { isAtLeast } from "../api/permissions.ts";
import type { Viewer } from "../screen.ts";

/** Decides what sidebar and palette show; the server authorizes every call again. */
export function canView(visibleTo: Viewer, me: Me | null, workspace: string): boolean {
  if (visibleTo === "anyone") return true;
  if (me === null) return false;
  if (visibleTo === "person" || me.operator) return true;
  return visibleTo !== "operator" && isAtLeast(me, workspace, visibleTo);
}
