import { useEffect, useRef } from "react";
import { pathIn, useNavigateTo } from "../address.ts";

/** Two keys, one after the other: `g` and then one of these. */
export const GO_KEYS: Readonly<Record<string, { readonly path: string; readonly title: string }>> = {
  h: { path: "", title: "Home" },
  p: { path: "playground", title: "Playground" },
  r: { path: "requests", title: "Requests" },
  u: { path: "usage", title: "Usage" },
  k: { path: "keys", title: "Keys" },
  w: { path: "wallet", title: "Wallet" },
  s: { path: "settings", title: "Settings" },
};

const SECOND_KEY_MS = 1200;

type Doings = { readonly onPalette: () => void; readonly onHelp: () => void; readonly workspace: string };

export function useShortcuts(doings: Doings): void {
  const go = useNavigateTo();
  const latest = useRef(doings);
  latest.current = doings;
  useEffect(() => {
    let wasG = 0;
    const onKeyDown = (event: KeyboardEvent) => {
      const { onPalette, onHelp, workspace } = latest.current;
      if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey) {
        event.preventDefault();
        onPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const second = event.timeStamp - wasG < SECOND_KEY_MS ? GO_KEYS[event.key] : undefined;
      wasG = event.key === "g" ? event.timeStamp : 0;
      if (second !== undefined && workspace !== "") go(pathIn(workspace, second.path));
      else if (event.key === "?") onHelp();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [go]);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable || target.matches("input, textarea, select") || target.closest("dialog[open]") !== null
  );
}
