import { useEffect, useRef, useSyncExternalStore } from "react";
import { IconButton } from "./button.tsx";
import { cx } from "./class-names.ts";
import { Icon } from "./icon.tsx";

type Toast = { readonly id: number; readonly text: string; readonly tone: "good" | "bad" };

const SHOWN_MS = 6000;
const SHOWN_MAX = 3;

let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Shows a short notification. The text is rendered as plain text. */
export function toast(text: string, tone: Toast["tone"] = "good"): void {
  last += 1;
  const id = last;
  change([...toasts, { id, text, tone }].slice(-SHOWN_MAX));
  setTimeout(() => change(toasts.filter((one) => one.id !== id)), SHOWN_MS);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  const ref = useRef<HTMLDivElement>(null);
  // Reopening moves the popover to the top of the top layer, above an open dialog.
  // It stays open without toasts, so that screen readers observe the live region.
  useEffect(() => {
    if (shown.length > 0 && ref.current?.matches(":popover-open")) ref.current.hidePopover();
    ref.current?.showPopover();
  }, [shown]);
  return (
    <div
      ref={ref}
      popover="manual"
      role="status"
      aria-live="polite"
      data-print="no"
      className="pointer-events-none fixed right-4 bottom-4 w-[min(24rem,calc(100vw-2rem))] gap-2 overflow-visible border-0 bg-transparent p-0 text-ink open:grid"
    >
      {shown.map(({ id, text, tone }) => (
        <div
          key={id}
          className="pointer-events-auto flex items-start gap-2.5 rounded-md border bg-raised py-1.5 pr-1.5 pl-3 shadow-pop"
        >
          <Icon
            name={tone === "good" ? "check" : "warning"}
            className={cx("mt-2", tone === "good" ? "text-good" : "text-bad")}
          />
          <p className="min-w-0 flex-1 py-1 break-words">{text}</p>
          <IconButton icon="close" label="Dismiss" onClick={() => change(toasts.filter((one) => one.id !== id))} />
        </div>
      ))}
    </div>
  );
}
