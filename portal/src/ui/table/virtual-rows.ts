import { useWindowVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { type RefObject, useLayoutEffect, useState, useSyncExternalStore } from "react";

/** Shorter lists are rendered as a whole: they can be searched by the browser. */
const VIRTUAL_MIN = 100;
const ROW_PX = 48;
const CARD_PX = 104;
const OVERSCAN = 10;

export type VirtualRows = {
  /** Null: all rows are rendered. */
  readonly items: readonly VirtualItem[] | null;
  /** Heights of what is not rendered. */
  readonly beforePx: number;
  readonly afterPx: number;
  readonly measure: (element: Element | null) => void;
  readonly scrollTo: (index: number) => void;
};

/** Renders only the rows near the viewport. The page scrolls, not the table. */
export function useVirtualRows(count: number, body: RefObject<HTMLElement | null>): VirtualRows {
  const isPrinting = useMedia("print");
  const isPhone = useMedia("(width < 48rem)");
  const [top, setTop] = useState<number | null>(null);
  useLayoutEffect(() => {
    const element = body.current;
    // Measuring forces a layout, and a new position renders every row again: only virtual rows need it.
    if (element === null || count < VIRTUAL_MIN) return;
    // A dialog has its scroll container and short tables.
    if (element.closest("dialog, [role=dialog]") !== null) return;
    const next = Math.round(element.getBoundingClientRect().top + window.scrollY);
    if (top === null || Math.abs(next - top) > 1) setTop(next);
  });
  const isVirtual = count >= VIRTUAL_MIN && top !== null && !isPrinting;
  const virtualizer = useWindowVirtualizer({
    count,
    enabled: isVirtual,
    estimateSize: () => (isPhone ? CARD_PX : ROW_PX),
    overscan: OVERSCAN,
    scrollMargin: top ?? 0,
  });
  if (!isVirtual) return { items: null, beforePx: 0, afterPx: 0, measure: () => undefined, scrollTo: () => undefined };
  const items = virtualizer.getVirtualItems();
  const margin = top;
  return {
    items,
    beforePx: (items[0]?.start ?? margin) - margin,
    afterPx: virtualizer.getTotalSize() - ((items.at(-1)?.end ?? margin) - margin),
    measure: virtualizer.measureElement,
    scrollTo: (index) => virtualizer.scrollToIndex(index),
  };
}

function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (notify) => {
      const media = window.matchMedia(query);
      media.addEventListener("change", notify);
      return () => media.removeEventListener("change", notify);
    },
    () => window.matchMedia(query).matches,
  );
}
