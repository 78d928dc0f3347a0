import { useEffect, useState } from "react";
import { buttonClass } from "./button.tsx";
import { cx } from "./class-names.ts";
import { Icon } from "./icon.tsx";

const SAID_MS = 1600;

/** Copies a text and says so. Without `children` it is an icon. */
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
    const timer = setTimeout(() => setState("idle"), SAID_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () => {
    copyText(text).then(
      () => setState("copied"),
      () => setState("failed"),
    );
  };
  const look =
    children === undefined
      ? "inline-flex size-6 items-center justify-center rounded-sm text-soft hover:bg-hover hover:text-ink"
      : buttonClass("plain", "small");
  return (
    <button
      type="button"
      onClick={copy}
      aria-label={children === undefined ? label : undefined}
      title={label}
      className={cx(look, state === "copied" && "text-good", className)}
    >
      <Icon name={state === "copied" ? "check" : "copy"} className="size-3.5" />
      {children !== undefined && (state === "copied" ? "Copied" : children)}
      <span role="status" className="sr-only">
        {state === "copied"
          ? "Copied"
          : state === "failed"
            ? "Copying failed: select the text and copy it by hand"
            : ""}
      </span>
    </button>
  );
}

/** Pages on plain HTTP have no clipboard of the browser's; a hidden field does it there. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  field.setAttribute("readonly", "");
  field.className = "fixed opacity-0";
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  if (!isDone) throw new Error("copying is not allowed here");
}
