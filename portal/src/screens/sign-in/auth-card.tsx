import type { ReactNode } from "react";

type Props = {
  readonly title: string;
  readonly about?: ReactNode;
  readonly children?: ReactNode;
  readonly footer?: ReactNode;
};

export function AuthCard({ title, about, children, footer }: Props) {
  return (
    <div className="grid w-full max-w-sm gap-5">
      <div className="rounded-lg border bg-card shadow-[0_1px_0_var(--color-line)]">
        <header className="grid gap-1 px-6 pt-6">
          <h1 className="text-xl leading-7">{title}</h1>
          {about !== undefined && <p className="text-soft text-pretty">{about}</p>}
        </header>
        <div className="grid gap-4 px-6 pt-5 pb-6">{children}</div>
      </div>
      {footer !== undefined && <p className="text-center text-soft">{footer}</p>}
    </div>
  );
}

export function Or() {
  return (
    <p className="flex items-center gap-3 text-xs text-faint before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
      or
    </p>
  );
}
