import type { ButtonHTMLAttributes, ReactNode } from "react";
import { cx } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";
import { Tooltip } from "./tooltip.tsx";

export type ButtonVariant = "primary" | "plain" | "quiet" | "danger";

const VARIANT_CLASSES: Readonly<Record<ButtonVariant, string>> = {
  primary: "bg-accent text-on-accent border-accent hover:bg-accent-strong hover:border-accent-strong",
  plain: "bg-card text-ink border-line-strong/60 hover:bg-hover hover:border-line-strong",
  quiet: "bg-transparent text-soft border-transparent hover:bg-hover hover:text-ink",
  danger: "bg-card text-bad border-bad/50 hover:bg-bad hover:text-on-bad hover:border-bad",
};

/** Button classes for links. */
export function buttonClass(variant: ButtonVariant = "plain", size: "small" | "normal" = "normal"): string {
  return cx(
    "inline-flex items-center justify-center gap-1.5 whitespace-nowrap rounded-md border font-medium transition-colors select-none",
    "disabled:opacity-50 disabled:pointer-events-none aria-disabled:opacity-50",
    size === "small" ? "h-7 px-2 text-xs" : "h-9 px-3.5 text-sm",
    VARIANT_CLASSES[variant],
  );
}

type Props = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "className"> & {
  readonly variant?: ButtonVariant | undefined;
  readonly size?: "small" | "normal" | undefined;
  readonly icon?: IconName | undefined;
  /** Shows a spinner and disables the button. */
  readonly busy?: boolean | undefined;
  readonly className?: string | undefined;
  readonly children?: ReactNode | undefined;
};

export function Button({
  variant = "plain",
  size = "normal",
  icon,
  busy = false,
  className,
  children,
  disabled,
  type = "button",
  ...rest
}: Props) {
  return (
    <button
      {...rest}
      type={type}
      disabled={disabled === true || busy}
      aria-busy={busy || undefined}
      className={cx(buttonClass(variant, size), className)}
    >
      {busy ? (
        <Spinner />
      ) : (
        icon !== undefined && <Icon name={icon} className={size === "small" ? "size-3.5" : undefined} />
      )}
      {children}
    </button>
  );
}

/** `label` is the accessible name. */
export function IconButton({
  icon,
  label,
  className,
  type = "button",
  ...rest
}: Omit<Props, "children" | "variant" | "size"> & { readonly icon: IconName; readonly label: string }) {
  const { busy = false, ...own } = rest;
  return (
    <Tooltip text={label}>
      <button
        {...own}
        type={type}
        aria-label={label}
        aria-busy={busy || undefined}
        className={cx(
          "inline-flex size-8 shrink-0 items-center justify-center rounded-md text-soft transition-colors hover:bg-hover hover:text-ink disabled:pointer-events-none disabled:opacity-50",
          className,
        )}
      >
        {busy ? <Spinner /> : <Icon name={icon} />}
      </button>
    </Tooltip>
  );
}

function Spinner() {
  return (
    <span
      aria-hidden="true"
      className="size-3.5 animate-spin rounded-full border-2 border-current border-r-transparent"
    />
  );
}
