import type { ReactNode } from "react";

/** A sticky bar for unsaved changes; the primary button comes last. */
export function SaveBar({
  title,
  note,
  actions,
  children,
}: {
  readonly title: string;
  readonly note?: ReactNode | undefined;
  readonly actions: ReactNode;
  readonly children?: ReactNode | undefined;
}) {
  return (
    <section
      aria-label="Unsaved changes"
      className="sticky bottom-3 z-10 grid gap-2 rounded-lg border bg-raised px-4 py-3 shadow-pop"
    >
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          <p className="font-medium">{title}</p>
          {note !== undefined && <p className="text-xs text-soft">{note}</p>}
        </div>
        <div className="flex gap-2">{actions}</div>
      </div>
      {children}
    </section>
  );
}
