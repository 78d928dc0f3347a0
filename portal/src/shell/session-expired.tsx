import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Me } from "../api/me.ts";
import { Button, buttonClass } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { useNavigateTo } from "../url-state.ts";

/**
 * The person whose session expired on this screen; undefined while signed in. The screen stays mounted but hidden,
 * so that form input is kept until they sign in again.
 */
export function useExpiredSession(me: Me | null | undefined, isActive: boolean): Me | undefined {
  const client = useQueryClient();
  const lastPerson = useRef<Me>(undefined);
  const wasExpired = useRef(false);
  const isExpired = me === null && isActive && lastPerson.current !== undefined;
  useEffect(() => {
    if (me === null && !isActive) lastPerson.current = undefined;
    if (me === null || me === undefined) {
      wasExpired.current = isExpired;
      return;
    }
    // Another person signed in: discard all state of the previous one.
    if (lastPerson.current !== undefined && lastPerson.current.email !== me.email) location.reload();
    lastPerson.current = me;
    if (wasExpired.current) void client.invalidateQueries();
    wasExpired.current = false;
  }, [me, isActive, isExpired, client]);
  return isExpired ? lastPerson.current : undefined;
}

export function SessionExpired({
  isOpen,
  currentPath,
  onRecheck,
}: {
  readonly isOpen: boolean;
  readonly currentPath: string;
  readonly onRecheck: () => void;
}) {
  const navigateTo = useNavigateTo();
  const signInPath = `/app/sign-in?${new URLSearchParams({ next: currentPath })}`;
  return (
    <Dialog open={isOpen} onClose={onRecheck} title="Session expired" size="small">
      <p>Your input on this screen is kept. Open the sign-in page in a new tab, then return here.</p>
      <div className="grid gap-2">
        <a href={signInPath} target="_blank" rel="noopener" className={buttonClass("primary")}>
          Open sign-in page
        </a>
        <Button onClick={onRecheck}>I signed in</Button>
        <Button variant="quiet" onClick={() => navigateTo(signInPath, "replace")}>
          Discard and sign in here
        </Button>
      </div>
    </Dialog>
  );
}
