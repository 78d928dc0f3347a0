import { type ReactNode, type SyntheticEvent, useEffect, useId, useRef } from "react";
import { Button, IconButton } from "./button.tsx";
import { cx } from "./class-names.ts";

type Props = {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly children: ReactNode;
  readonly footer?: ReactNode | undefined;
  readonly size?: "small" | "normal" | "wide" | undefined;
  /** A full-height side panel. */
  readonly side?: boolean | undefined;
};

const SIZES = { small: "max-w-sm", normal: "max-w-lg", wide: "max-w-3xl" } as const;

/** A native modal dialog. */
export function Dialog({ open, onClose, title, children, footer, size = "normal", side = false }: Props) {
  const titleId = useId();
  const ref = useRef<HTMLDialogElement>(null);
  const pressedOutside = useRef(false);
  // A secret that is shown once must not be lost by accident: only a button closes the dialog.
  const isDismissible = () => ref.current?.querySelector("[data-shown-once]") === null;
  useEffect(() => {
    const dialog = ref.current;
    if (dialog === null) return;
    if (open && !dialog.open) {
      dialog.showModal();
      // The browser focuses the close button; forms should start at their first field.
      if (dialog.querySelector("header")?.contains(document.activeElement)) firstField(dialog)?.focus();
    }
    if (!open && dialog.open) dialog.close();
  }, [open]);
  const layoutClasses = side
    ? "mr-0 ml-auto my-0 h-dvh max-h-none w-full rounded-none border-y-0 border-r-0"
    : "m-auto w-[calc(100%-2rem)] max-h-[calc(100dvh-2rem)] rounded-lg";
  return (
    <dialog
      ref={ref}
      aria-labelledby={titleId}
      onClose={(event) => event.target === event.currentTarget && onClose()}
      onKeyDown={(event) => event.key === "Escape" && !isDismissible() && event.preventDefault()}
      // The back gesture on phones triggers no key event.
      onCancel={(event) => !isDismissible() && event.preventDefault()}
      onPointerDown={(event) => {
        pressedOutside.current = event.target === event.currentTarget;
      }}
      // A text selection may end outside the dialog: only clicks that start outside close it.
      onClick={(event) =>
        event.target === event.currentTarget && pressedOutside.current && isDismissible() && onClose()
      }
      // Resets styles inherited from a table cell.
      className={cx(
        "border bg-raised p-0 text-left font-normal whitespace-normal shadow-pop",
        SIZES[size],
        layoutClasses,
      )}
    >
      {open && (
        <div className={cx("grid max-h-[inherit] grid-rows-[auto_minmax(0,1fr)_auto]", side && "h-full")}>
          <header className="flex items-center justify-between gap-4 border-b py-2.5 pr-2.5 pl-5">
            <h2 id={titleId} className="min-w-0 truncate text-base">
              {title}
            </h2>
            <IconButton icon="close" label="Close" onClick={onClose} />
          </header>
          <div className="grid min-h-0 content-start gap-4 overflow-auto px-5 py-4">{children}</div>
          {footer !== undefined && (
            <footer className="flex flex-wrap justify-end gap-2 border-t px-5 py-3">{footer}</footer>
          )}
        </div>
      )}
    </dialog>
  );
}

function firstField(dialog: HTMLElement): HTMLElement | null {
  return dialog.querySelector<HTMLElement>("form :is(input, select, textarea):not(:disabled, [readonly])");
}

/** Row details in a side panel; keep the row's ID in the URL, so that it can be shared. */
export function Drawer(props: Omit<Props, "side">) {
  return <Dialog size="wide" {...props} side />;
}

type FormProps = Omit<Props, "footer" | "side"> & {
  readonly onSubmit: () => void;
  /** The label of the submit button. */
  readonly action: string;
  readonly busy?: boolean | undefined;
  readonly disabled?: boolean | undefined;
  readonly danger?: boolean | undefined;
  /** Replaces the cancel button. */
  readonly secondaryActions?: ReactNode | undefined;
};

/** A dialog with a form and a submit button. */
export function FormDialog(props: FormProps) {
  const { onSubmit, children, action, busy, disabled, danger = false, secondaryActions, ...rest } = props;
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <Dialog {...rest}>
      <form onSubmit={submit} className="grid gap-4">
        {children}
        <div className="sticky -bottom-4 -mx-5 -mb-4 flex flex-wrap justify-end gap-2 border-t bg-raised px-5 py-3">
          {secondaryActions === undefined ? <Button onClick={rest.onClose}>Cancel</Button> : secondaryActions}
          <Button type="submit" variant={danger ? "danger" : "primary"} busy={busy} disabled={disabled}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
