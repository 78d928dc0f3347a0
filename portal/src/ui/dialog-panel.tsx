import type { ReactNode } from "react";
import { IconButton } from "./button.tsx";
import { cx } from "./class-names.ts";
import { Modal, ModalClose, ModalTitle } from "./modal.tsx";

export type DialogProps = {
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

/** The dialog itself; `dialog.tsx` loads it. */
export function DialogPanel({ open, onClose, title, children, footer, size = "normal", side = false }: DialogProps) {
  return (
    <Modal
      open={open}
      onClose={onClose}
      place={side ? "right" : "center"}
      className={cx(
        "grid w-full grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)_auto]",
        side ? "h-dvh border-l" : "max-h-[calc(100dvh-2rem)] rounded-lg border",
        SIZES[size],
      )}
    >
      <header className="flex items-center justify-between gap-4 border-b py-2.5 pr-2.5 pl-5">
        <ModalTitle className="min-w-0 truncate text-base">{title}</ModalTitle>
        <ModalClose render={<IconButton icon="close" label="Close" />} />
      </header>
      <div className="grid min-h-0 content-start gap-4 overflow-auto px-5 py-4">{children}</div>
      {footer !== undefined && (
        <footer className="flex flex-wrap justify-end gap-2 border-t px-5 py-3">{footer}</footer>
      )}
    </Modal>
  );
}
