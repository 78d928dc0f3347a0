import { type ReactNode, type SyntheticEvent, useEffect, useId, useRef } from "react";
import { Button, IconButton } from "./button.tsx";
import { cx } from "./class-names.ts";

type Props = {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly children: ReactNode;
  /** Buttons at the end. */
  readonly footer?: ReactNode | undefined;
  readonly size?: "small" | "normal" | "wide" | undefined;
  /** From the side and as high as the window: for details of a row. */
  readonly side?: boolean | undefined;
};

const SIZES = { small: "max-w-sm", normal: "max-w-lg", wide: "max-w-3xl" } as const;

/** The browser's own dialog: focus stays inside, Escape closes, the page behind is inert. */
export function Dialog({ open, onClose, title, children, footer, size = "normal", side = false }: Props) {
  const titleId = useId();
  const ref = useRef<HTMLDialogElement>(null);
  const isPressedOutside = useRef(false);
  // A secret that is shown once would be lost by a slip: it goes by a button alone.
  const mayVanish = () => ref.current?.querySelector("[data-shown-once]") === null;
  useEffect(() => {
    const dialog = ref.current;
    if (dialog === null) return;
    if (open && !dialog.open) {
      dialog.showModal();
      // The browser takes the button that closes; whoever opened a form wants to fill it in.
      if (dialog.querySelector("header")?.contains(document.activeElement)) firstField(dialog)?.focus();
    }
    if (!open && dialog.open) dialog.close();
  }, [open]);
  const place = side
    ? "mr-0 ml-auto my-0 h-dvh max-h-none w-full rounded-none border-y-0 border-r-0"
    : "m-auto w-[calc(100%-2rem)] max-h-[calc(100dvh-2rem)] rounded-lg";
  return (
    <dialog
      ref={ref}
      aria-labelledby={titleId}
      onClose={(event) => event.target === event.currentTarget && onClose()}
      onKeyDown={(event) => event.key === "Escape" && !mayVanish() && event.preventDefault()}
      // The way back on a phone is no key.
      onCancel={(event) => !mayVanish() && event.preventDefault()}
      onPointerDown={(event) => {
        isPressedOutside.current = event.target === event.currentTarget;
      }}
      // Text that is marked with the pointer may end outside: only what began there closes.
      onClick={(event) => event.target === event.currentTarget && isPressedOutside.current && mayVanish() && onClose()}
      // One that stands in a cell of a table is not set as the cell is.
      className={cx("border bg-raised p-0 text-left font-normal whitespace-normal shadow-pop", SIZES[size], place)}
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

/** Details of a row beside the list; put its id into the address, so that it can be sent to somebody. */
export function Drawer(props: Omit<Props, "side">) {
  return <Dialog size="wide" {...props} side />;
}

type FormProps = Omit<Props, "footer" | "side"> & {
  readonly onSubmit: () => void;
  /** What the button says that sends it. */
  readonly action: string;
  readonly busy?: boolean | undefined;
  readonly disabled?: boolean | undefined;
  readonly danger?: boolean | undefined;
  /** In the place of "Cancel". */
  readonly otherwise?: ReactNode | undefined;
};

/** A dialog that is a form: Enter sends it. */
export function FormDialog(props: FormProps) {
  const { onSubmit, children, action, busy, disabled, danger = false, otherwise, ...rest } = props;
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <Dialog {...rest}>
      <form onSubmit={submit} className="grid gap-4">
        {children}
        <div className="sticky -bottom-4 -mx-5 -mb-4 flex flex-wrap justify-end gap-2 border-t bg-raised px-5 py-3">
          {otherwise === undefined ? <Button onClick={rest.onClose}>Cancel</Button> : otherwise}
          <Button type="submit" look={danger ? "danger" : "primary"} busy={busy} disabled={disabled}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
