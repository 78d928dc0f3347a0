import { type ReactNode, type SyntheticEvent, useState } from "react";
import { Button } from "./button.tsx";
import type { DialogProps } from "./dialog-panel.tsx";
import { later, Nothing } from "./later.tsx";

const DialogPanel = later(async () => (await import("./dialog-panel.tsx")).DialogPanel, Nothing);

export function Dialog(props: DialogProps) {
  const [wasOpen, setWasOpen] = useState(props.open);
  if (props.open && !wasOpen) setWasOpen(true);
  return wasOpen && <DialogPanel {...props} />;
}

/** Row details in a side panel; keep the row's ID in the URL, so that it can be shared. */
export function Drawer(props: Omit<DialogProps, "side">) {
  return <Dialog size="wide" {...props} side />;
}

type FormProps = Omit<DialogProps, "footer" | "side"> & {
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
    // Dialogs are children of the screen's forms in React, though not in the document.
    event.stopPropagation();
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
