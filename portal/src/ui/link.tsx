import { Link as RouterLink } from "@tanstack/react-router";
import type { AnchorHTMLAttributes } from "react";
import { parseSearch } from "../address.ts";
import { type ButtonLook, buttonClass } from "./button.tsx";
import { cx } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";

type Props = Pick<
  AnchorHTMLAttributes<HTMLAnchorElement>,
  "className" | "children" | "onClick" | "title" | "role" | "tabIndex" | "id" | "aria-label" | "aria-current"
> & {
  /** An address of the portal, query and all. */
  readonly to: string;
  /** Without colour and underline: for rows, cards and the sidebar. */
  readonly plain?: boolean | undefined;
};

const EXACT = { exact: true } as const;

/** A link inside the portal: the page stays, its part is loaded when the pointer comes near. */
export function Link({ to, plain = false, className, ...rest }: Props) {
  const [path = "", query = ""] = to.split("?");
  const look = plain
    ? className
    : cx("text-accent underline decoration-accent/35 underline-offset-2 hover:decoration-current", className);
  // Otherwise every link to a part of the path would be the current page as well.
  return <RouterLink {...rest} to={path} search={parseSearch(query)} activeOptions={EXACT} className={look ?? ""} />;
}

/** A link that looks like a button: for going somewhere, where a button does something. */
export function LinkButton({
  to,
  look = "plain",
  size = "normal",
  icon,
  className,
  children,
  ...rest
}: Omit<Props, "plain"> & {
  readonly look?: ButtonLook | undefined;
  readonly size?: "small" | "normal" | undefined;
  readonly icon?: IconName | undefined;
}) {
  return (
    <Link {...rest} to={to} plain className={cx(buttonClass(look, size), className)}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </Link>
  );
}

/** A link that leaves the portal: documents, files, other sites. Loads nothing by itself. */
export function OutLink({
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
