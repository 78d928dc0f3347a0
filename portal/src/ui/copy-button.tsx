import { useEffect, useState } from "react";
import { buttonClass } from "./button.tsx";
import { cx } from "./class-names.ts";
import { Icon } from "./icon.tsx";

const FEEDBACK_MS = 1600;

/** Without `children` it is an icon button. */
export function CopyButton({
  text,
  label = "Copy",
  children,
  className,
}: {
  readonly text: string;
  readonly label?: string | undefined;
  readonly children?: string | undefined;
  readonly className?: string | undefined;
}) {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), FEEDBACK_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () => {
    copyText(text).then(
      () => setState("copied"),
      () => setState("failed"),
    );
  };
  const classes =
    children === undefined
      ? "inline-flex size-6 items-center justify-center rounded-sm text-soft hover:bg-hover hover:text-ink"
      : buttonClass("plain", "small");
  return (
    <button
      type="button"
      onClick={copy}
      aria-label={children === undefined ? label : undefined}
      title={label}
      className={cx(classes, state === "copied" && "text-good", className)}
    >
      <Icon name={state === "copied" ? "check" : "copy"} className="size-3.5" />
      {children !== undefined && (state === "copied" ? "Copied" : children)}
      <span role="status" className="sr-only">
        {state === "copied" ? "Copied" : state === "failed" ? "Copy failed. Select the text and copy it manually." : ""}
      </span>
    </button>
  );
}

/** Falls back to a hidden field, as the clipboard API requires HTTPS. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  field.setAttribute("readonly", "");
  field.className = "fixed opacity-0";
  // An open dialog keeps the focus inside.
  (document.activeElement?.closest('[role="dialog"]') ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (!isCopied) throw new Error("Copying is not allowed here");
}
