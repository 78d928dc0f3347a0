import { Fragment, type ReactNode } from "react";
import type { Tone } from "./badge.tsx";
import { cx } from "./class-names.ts";
import { DocsLink } from "./docs-link.tsx";
import { Icon, type IconName } from "./icon.tsx";

type HeaderProps = {
  readonly title: ReactNode;
  /** One sentence about the purpose of the screen. */
  readonly about?: ReactNode | undefined;
  /** Badges next to the title. */
  readonly mark?: ReactNode | undefined;
  /** Buttons, the primary one last. */
  readonly actions?: ReactNode | undefined;
};

/** Contains the only h1 of the screen. */
export function PageHeader({ title, about, mark, actions }: HeaderProps) {
  return (
    <header className="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
      <div className="grid min-w-0 gap-1 sm:flex-1 sm:basis-72">
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <h1 className="min-w-0 text-xl leading-7 break-words">{title}</h1>
          {mark}
        </div>
        {about !== undefined && <p className="max-w-2xl text-soft text-pretty">{about}</p>}
      </div>
      <div data-print="no" className="flex flex-wrap items-center gap-2 max-sm:[&>*:first-child]:-ml-3">
        <DocsLink />
        {actions}
      </div>
    </header>
  );
}

type CardProps = {
  readonly title?: ReactNode | undefined;
  readonly about?: ReactNode | undefined;
  readonly actions?: ReactNode | undefined;
  readonly children?: ReactNode | undefined;
  readonly className?: string | undefined;
  readonly flush?: boolean | undefined;
};

/** `flush` removes the padding, for tables and charts. */
export function Card({ title, about, actions, children, className, flush = false }: CardProps) {
  const hasBody = children !== undefined && children !== null && children !== false;
  return (
    <section className={cx("min-w-0 rounded-lg border bg-card", className)}>
      {(title !== undefined || actions !== undefined) && (
        <header
          className={cx("flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-5 py-3", hasBody && "border-b")}
        >
          <div className="min-w-0">
            {title !== undefined && <h2 className="text-sm">{title}</h2>}
            {about !== undefined && <p className="text-xs text-soft">{about}</p>}
          </div>
          {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      {hasBody && <div className={cx("min-w-0", !flush && "px-5 py-4")}>{children}</div>}
    </section>
  );
}

/** A labelled value. */
export function Stat({
  label,
  value,
  note,
  tone,
}: {
  readonly label: string;
  readonly value: ReactNode;
  readonly note?: ReactNode | undefined;
  readonly tone?: "good" | "warn" | "bad" | undefined;
}) {
  const colour = tone === undefined ? "" : { good: "text-good", warn: "text-warn", bad: "text-bad" }[tone];
  return (
    <div className="grid min-w-0 content-start gap-0.5 rounded-lg border bg-card px-4 py-3">
      <p className="label-mark">{label}</p>
      <p
        className={cx(
          "figures text-xl leading-7 font-semibold tracking-tight [overflow-wrap:anywhere] [&_[data-long]]:text-base [&_[data-long]]:whitespace-normal max-sm:[&_[data-long]]:text-sm",
          colour,
        )}
      >
        {value}
      </p>
      {note !== undefined && <p className="text-xs text-soft">{note}</p>}
    </div>
  );
}

export function StatRow({ children }: { readonly children: ReactNode }) {
  return <div className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,9rem),1fr))] gap-3">{children}</div>;
}

/** A description list. */
export function KeyValue({ rows }: { readonly rows: readonly { readonly name: string; readonly value: ReactNode }[] }) {
  return (
    <dl className="grid grid-cols-[minmax(7rem,max-content)_minmax(0,1fr)] gap-x-6 gap-y-2 max-sm:grid-cols-1 max-sm:gap-y-0.5">
      {rows.map(({ name, value }) => (
        <Fragment key={name}>
          <dt className="text-soft max-sm:mt-1.5 max-sm:text-xs">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

const CALLOUTS: Readonly<
  Record<Exclude<Tone, "neutral" | "accent">, { readonly classes: string; readonly icon: IconName }>
> = {
  info: { classes: "border-info/35 bg-info-soft text-info", icon: "info" },
  good: { classes: "border-good/35 bg-good-soft text-good", icon: "check" },
  warn: { classes: "border-warn/35 bg-warn-soft text-warn", icon: "warning" },
  bad: { classes: "border-bad/35 bg-bad-soft text-bad", icon: "warning" },
};

/** A highlighted notice. */
export function Callout({
  tone = "info",
  title,
  children,
  action,
}: {
  readonly tone?: keyof typeof CALLOUTS | undefined;
  readonly title?: string | undefined;
  readonly children?: ReactNode | undefined;
  readonly action?: ReactNode | undefined;
}) {
  const { classes, icon } = CALLOUTS[tone];
  return (
    <div className={cx("flex flex-wrap items-start gap-x-3 gap-y-2 rounded-md border px-4 py-3", classes)}>
      <div className="flex min-w-0 flex-1 basis-60 items-start gap-3">
        <Icon name={icon} className="mt-0.5" />
        <div className="min-w-0 flex-1">
          {title !== undefined && <p className="font-semibold">{title}</p>}
          {children !== undefined && <div className="text-ink">{children}</div>}
        </div>
      </div>
      {action}
    </div>
  );
}

/** `label` is the accessible name. */
export function Progress({
  share,
  label,
  tone = "accent",
}: {
  readonly share: number;
  readonly label: string;
  readonly tone?: "accent" | "good" | "warn" | "bad" | undefined;
}) {
  const percent = Math.round(Math.max(0, Math.min(1, share)) * 100);
  const colour = { accent: "bg-accent", good: "bg-good", warn: "bg-warn", bad: "bg-bad" }[tone];
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      className="h-1.5 w-full overflow-hidden rounded-full bg-line"
    >
      <div className={cx("h-full rounded-full transition-[width]", colour)} style={{ width: `${percent}%` }} />
    </div>
  );
}

/** Vertical layout with the screen's standard gap. */
export function Stack({
  children,
  className,
}: {
  readonly children: ReactNode;
  readonly className?: string | undefined;
}) {
  return <div className={cx("grid min-w-0 grid-cols-[minmax(0,1fr)] gap-5", className)}>{children}</div>;
}

/** Filters above a table. */
export function Toolbar({ children }: { readonly children: ReactNode }) {
  return <div className="mb-4 flex flex-wrap items-end gap-2">{children}</div>;
}
