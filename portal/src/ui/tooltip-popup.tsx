import { Tooltip as Base } from "@base-ui/react/tooltip";
import type { ReactElement, ReactNode } from "react";
import { cx } from "./class-names.ts";
import { POPUP, POSITIONER } from "./popup.ts";

export type TooltipProps = { readonly text: ReactNode; readonly children: ReactElement };

/** The tooltip itself; `tooltip.tsx` loads it. */
export function TooltipWithPopup({ text, children }: TooltipProps) {
  return (
    <Base.Root>
      <Base.Trigger delay={400} render={children} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className={cx(POSITIONER, "pointer-events-none")}>
          <Base.Popup
            aria-hidden="true"
            data-print="no"
            className={cx(POPUP, "max-w-72 px-2 py-1 text-xs break-words")}
          >
            {text}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
