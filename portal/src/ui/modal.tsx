import { Dialog as Base } from "@base-ui/react/dialog";
import { type ReactNode, useContext, useRef } from "react";
import { cx } from "./class-names.ts";
import { ModalsHidden } from "./modals-hidden.ts";

export type ModalProps = {
  readonly open: boolean;
  readonly onClose: () => void;
  /** The accessible name, where the content has no `ModalTitle`. */
  readonly label?: string | undefined;
  /** Where the panel is. */
  readonly place?: "center" | "top" | "left" | "right" | undefined;
  readonly className?: string | undefined;
  readonly children: ReactNode;
};

const PLACES = {
  center: "grid place-items-center p-4",
  top: "grid justify-items-center content-start px-4 pt-[12dvh]",
  left: "flex justify-start",
  right: "flex justify-end",
} as const;

/** Traps and returns focus, closes on Escape and on a press outside; the content adds the look. */
export function Modal({ open, onClose, label, place = "center", className, children }: ModalProps) {
  const isHidden = useContext(ModalsHidden);
  const popup = useRef<HTMLDivElement>(null);
  const onOpenChange = (isOpen: boolean, { reason }: Base.Root.ChangeEventDetails) => {
    if (isOpen || isHidden || popup.current === null) return;
    // A secret that is shown once must not be lost by accident: only a button closes the dialog.
    if (reason !== "close-press" && popup.current.querySelector("[data-shown-once]") !== null) return;
    if (reason === "escape-key" && !isTopmost(popup.current)) return;
    onClose();
  };
  return (
    <Base.Root open={open} onOpenChange={onOpenChange} modal={!isHidden} disablePointerDismissal={isHidden}>
      <Base.Portal hidden={isHidden}>
        <Base.Backdrop className="fixed inset-0 z-40 bg-[rgb(5_12_15/0.45)] transition-opacity duration-100 data-starting-style:opacity-0" />
        <Base.Viewport className={cx("fixed inset-0 z-40 overflow-hidden", PLACES[place])}>
          <Base.Popup
            ref={popup}
            {...(label === undefined ? {} : { "aria-label": label })}
            initialFocus={(by) => (by === "touch" ? popup.current : (firstField(popup.current) ?? true))}
            className={cx(
              "min-w-0 overflow-hidden bg-raised text-left font-normal whitespace-normal text-ink shadow-pop outline-none",
              className,
            )}
          >
            {children}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

export const ModalTitle = Base.Title;
export const ModalClose = Base.Close;

/** Dialogs that are not nested in each other all receive the key; portals follow in the order of opening. */
function isTopmost(popup: HTMLElement): boolean {
  return [...document.querySelectorAll('[role="dialog"][data-open]')].at(-1) === popup;
}

/** Forms start at their first field instead of the close button. */
function firstField(popup: HTMLElement | null): HTMLElement | null | undefined {
  return popup?.querySelector<HTMLElement>(
    'form :is(input:not([type="hidden"], [aria-hidden]), select, textarea, [role="combobox"]):not(:disabled, [readonly])',
  );
}
