import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useNavigateTo } from "../address.ts";
import type { Me } from "../api/me.ts";
import { Button, buttonClass } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";

/**
 * Who was at work here when the session ended; undefined while somebody is signed in, or nobody was. Their screen is kept,
 * out of sight, so that what they wrote is there when they are back.
 */
export function useSessionOver(me: Me | null | undefined, isAtWork: boolean): Me | undefined {
  const client = useQueryClient();
  const before = useRef<Me>(undefined);
  const wasOver = useRef(false);
  const isOver = me === null && isAtWork && before.current !== undefined;
  useEffect(() => {
    if (me === null && !isAtWork) before.current = undefined;
    if (me === null || me === undefined) {
      wasOver.current = isOver;
      return;
    }
    // Somebody else came in: nothing of the one before may stay.
    if (before.current !== undefined && before.current.email !== me.email) location.reload();
    before.current = me;
    if (wasOver.current) void client.invalidateQueries();
    wasOver.current = false;
  }, [me, isAtWork, isOver, client]);
  return isOver ? before.current : undefined;
}

/** The session ended in the middle of work. */
export function SessionOver({
  isOpen,
  here,
  onLook,
}: {
  readonly isOpen: boolean;
  readonly here: string;
  readonly onLook: () => void;
}) {
  const go = useNavigateTo();
  const address = `/app/sign-in?${new URLSearchParams({ next: here })}`;
  return (
    <Dialog open={isOpen} onClose={onLook} title="Your session is over" size="small">
      <p>What you wrote on this screen is still here. Sign in in a new tab, then come back to this one.</p>
      <div className="grid gap-2">
        <a href={address} target="_blank" rel="noopener" className={buttonClass("primary")}>
          Sign in in a new tab
        </a>
        <Button onClick={onLook}>I have signed in</Button>
        <Button look="quiet" onClick={() => go(address, "replace")}>
          Leave this screen and sign in here
        </Button>
      </div>
    </Dialog>
  );
}
