import { useEffect, useRef } from "react";
import { pathIn, useNavigateTo } from "../url-state.ts";

/** Key sequences: `g`, then one of these keys. */
export const SHORTCUT_SCREENS: Readonly<Record<string, { readonly path: string; readonly title: string }>> = {
  h: { path: "", title: "Home" },
  p: { path: "playground", title: "Playground" },
  r: { path: "requests", title: "Requests" },
  u: { path: "usage", title: "Usage" },
  k: { path: "keys", title: "Keys" },
  w: { path: "wallet", title: "Wallet" },
  s: { path: "settings", title: "Settings" },
};

const SECOND_KEY_MS = 1200;

type ShortcutHandlers = { readonly onPalette: () => void; readonly onHelp: () => void; readonly workspace: string };

export function useShortcuts(handlers: ShortcutHandlers): void {
  const navigateTo = useNavigateTo();
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    let gPressedAt = 0;
    const onKeyDown = (event: KeyboardEvent) => {
      const { onPalette, onHelp, workspace } = latest.current;
      if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey) {
        event.preventDefault();
        onPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const second = event.timeStamp - gPressedAt < SECOND_KEY_MS ? SHORTCUT_SCREENS[event.key] : undefined;
      gPressedAt = event.key === "g" ? event.timeStamp : 0;
      if (second !== undefined && workspace !== "") navigateTo(pathIn(workspace, second.path));
      else if (event.key === "?") onHelp();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [navigateTo]);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest(OWN_KEYS) !== null;
}

/** Controls that use letters themselves, and everything in an open dialog or menu. */
const OWN_KEYS = 'input, textarea, select, [role="combobox"], [role="menu"], [role="dialog"]';
