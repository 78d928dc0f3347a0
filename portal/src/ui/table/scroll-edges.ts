import { type RefObject, useLayoutEffect } from "react";

/** The width of the shade at an edge behind which columns are hidden. */
const SHADE_PX = 10;

/**
 * Marks the edges behind which columns are hidden (`data-more-start`, `data-more-end`). A figure or time that would be cut
 * there is covered as a whole: half a number looks like another number.
 */
export function useScrollEdges(frame: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = frame.current;
    const scroller = element?.querySelector<HTMLElement>("[data-scroller]");
    if (element === null || scroller === null || scroller === undefined) return;
    const update = () => markEdges(element, scroller);
    // Runs after the layout of the next frame, before it is painted: reading sizes here would force another layout.
    const observer = new ResizeObserver(update);
    observer.observe(scroller);
    for (const table of scroller.children) observer.observe(table);
    scroller.addEventListener("scroll", update, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", update);
    };
  });
}

/** Half a date looks like another date. */
function hasTimes(scroller: HTMLElement, index: number, pinned: string | undefined): boolean {
  return pinned === undefined && scroller.querySelector(`tbody > tr > :nth-child(${index + 1}) time`) !== null;
}

function markEdges(frame: HTMLElement, scroller: HTMLElement): void {
  const hiddenEnd = scroller.scrollWidth - scroller.clientWidth - scroller.scrollLeft;
  const cells = [...scroller.querySelectorAll<HTMLElement>("thead th")];
  const box = scroller.getBoundingClientRect();
  const [start] = cells.filter(({ dataset }) => dataset["pinned"] === "start");
  const [end] = cells.filter(({ dataset }) => dataset["pinned"] === "end");
  const from = start?.getBoundingClientRect().right ?? box.left;
  const to = end?.getBoundingClientRect().left ?? box.right;
  const figures = cells
    .filter(({ dataset }, index) => dataset["figures"] !== undefined || hasTimes(scroller, index, dataset["pinned"]))
    .map((th) => th.getBoundingClientRect());
  const cutAt = (edge: number) => figures.find(({ left, right }) => left < edge - 1 && right > edge + 1);
  frame.toggleAttribute("data-more-start", scroller.scrollLeft > 1);
  frame.toggleAttribute("data-more-end", hiddenEnd > 1);
  const [cutStart, cutEnd] = [cutAt(from), cutAt(to)];
  const sizes = {
    "--edge-start": from - box.left,
    "--edge-end": box.right - to,
    "--cover-start": cutStart === undefined ? SHADE_PX : cutStart.right - from,
    "--cover-end": cutEnd === undefined ? SHADE_PX : to - cutEnd.left,
  };
  // Every cell inherits them: setting one recalculates the styles of the whole table.
  for (const [name, px] of Object.entries(sizes))
    if (frame.style.getPropertyValue(name) !== `${px}px`) frame.style.setProperty(name, `${px}px`);
  for (const [name, cut] of Object.entries({ "data-cut-start": cutStart, "data-cut-end": cutEnd }))
    frame.toggleAttribute(name, cut !== undefined);
}
