import { later } from "./later.tsx";
import type { TooltipProps } from "./tooltip-popup.tsx";

/**
 * Shows text on hover and focus of the control. It is visual only: the control still needs an accessible name.
 */
export const Tooltip = later(async () => (await import("./tooltip-popup.tsx")).TooltipWithPopup, ControlAlone);

function ControlAlone({ children }: TooltipProps) {
  return children;
}
