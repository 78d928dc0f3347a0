import { type ReactNode, useState } from "react";
import { FormDialog } from "./dialog.tsx";
import { ErrorNote } from "./error-state.tsx";
import { Field, Input } from "./field.tsx";

type Props = {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  readonly title: string;
  /** The button label, a verb with its object: "Revoke key". */
  readonly action: string;
  readonly children: ReactNode;
  readonly danger?: boolean | undefined;
  /** For irreversible actions: the name that must be typed. */
  readonly name?: string | undefined;
  readonly busy?: boolean | undefined;
  readonly error?: unknown | undefined;
};

/** A confirmation dialog; the children explain the consequences. */
export function Confirm({
  open,
  onClose,
  onConfirm,
  title,
  action,
  children,
  danger = false,
  name,
  busy = false,
  error,
}: Props) {
  const [typed, setTyped] = useState("");
  const isReady = name === undefined || typed === name;
  const close = () => {
    setTyped("");
    onClose();
  };
  return (
    <FormDialog
      open={open}
      onClose={close}
      title={title}
      action={action}
      busy={busy}
      disabled={!isReady}
      danger={danger}
      onSubmit={() => isReady && onConfirm()}
    >
      <div className="grid gap-2 text-soft">{children}</div>
      {name !== undefined && (
        <Field label={`Type ${name} to confirm`}>
          <Input
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            autoComplete="off"
            spellCheck={false}
            mono
          />
        </Field>
      )}
      <ErrorNote error={error} />
    </FormDialog>
  );
}
