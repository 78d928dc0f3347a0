/** As a `ref` of what just came: it is scrolled into sight, where a long form or a dialog has it out of sight. */
export function intoSight(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}
