import type { Me } from "../api/me.ts";
import { isAtLeast } from "../api/powers.ts";
import type { Viewer } from "../screen.ts";

/** What the sidebar shows and the palette finds. The server decides again on every call. */
export function mayView(allows: Viewer, me: Me | null, workspace: string): boolean {
  if (allows === "anyone") return true;
  if (me === null) return false;
  if (allows === "person" || me.operator) return true;
  return allows !== "operator" && isAtLeast(me, workspace, allows);
}
