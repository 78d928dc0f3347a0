import { Link as RouterLink } from "@tanstack/react-router";
import type { AnchorHTMLAttributes } from "react";
import { parseSearch } from "../url-state.ts";
import { type ButtonVariant, buttonClass } from "./button.tsx";
import { cx } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";

type Props = Pick<
  AnchorHTMLAttributes<HTMLAnchorElement>,
  "className" | "children" | "onClick" | "title" | "role" | "tabIndex" | "id" | "aria-label" | "aria-current"
> & {
  /** A path of the portal with its query. */
  readonly to: string;
  /** Without link styling, for rows, cards and the sidebar. */
  readonly plain?: boolean | undefined;
};

const EXACT = { exact: true } as const;

/** A client-side link that preloads its screen on hover. */
export function Link({ to, plain = false, className, ...rest }: Props) {
  const [path = "", query = ""] = to.split("?");
  const classes = plain
    ? className
    : cx("text-accent underline decoration-accent/35 underline-offset-2 hover:decoration-current", className);
  // Otherwise links to parent paths would also count as the current page.
  return <RouterLink {...rest} to={path} search={parseSearch(query)} activeOptions={EXACT} className={classes ?? ""} />;
}

/** A link styled as a button, for navigation. */
export function LinkButton({
  to,
  variant = "plain",
  size = "normal",
  icon,
  className,
  children,
  ...rest
}: Omit<Props, "plain"> & {
  readonly variant?: ButtonVariant | undefined;
  readonly size?: "small" | "normal" | undefined;
  readonly icon?: IconName | undefined;
}) {
  return (
    <Link {...rest} to={to} plain className={cx(buttonClass(variant, size), className)}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </Link>
  );
}

/** A link to documents, files and other sites. */
export function ExternalLink({
  className,
  children,
  ...rest
}: AnchorHTMLAttributes<HTMLAnchorElement> & { readonly href: string }) {
  return (
    <a
      {...rest}
      rel="noreferrer"
      className={cx(
        "text-accent underline decoration-accent/35 underline-offset-2 hover:decoration-current",
        className,
      )}
    >
      {children}
    </a>
  );
}
