import type { Me } from "../api/me.ts";
import { isAtLeast } from "../api/powers.ts";
import type { Viewer } from "../screen.ts";

/** What the sidebar shows and the palette finds. The server decides again on every call. */
export function mayView(visibleTo: Viewer, me: Me | null, workspace: string): boolean {
  if (visibleTo === "anyone") return true;
  if (me === null) return false;
  if (visibleTo === "person" || me.operator) return true;
  return visibleTo !== "operator" && isAtLeast(me, workspace, visibleTo);
}
