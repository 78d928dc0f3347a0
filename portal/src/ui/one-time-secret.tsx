import type { ReactNode } from "react";
import { CopyButton } from "./copy-button.tsx";
import { Icon } from "./icon.tsx";

/** A secret that can't be retrieved again. */
export function OneTimeSecret({
  secret,
  label,
  children,
}: {
  readonly secret: string;
  readonly label: string;
  readonly children?: ReactNode | undefined;
}) {
  return (
    <div className="grid gap-3 rounded-md border border-warn/40 bg-warn-soft p-4">
      <p className="flex gap-2 font-medium text-warn">
        <Icon name="eye" className="mt-0.5" />
        This is shown only once. Copy it now and store it securely.
      </p>
      <div className="flex items-center gap-2 rounded-md border bg-card py-1.5 pr-2 pl-3">
        <code className="min-w-0 flex-1 font-mono text-[0.8125rem] break-all" data-secret={label} data-shown-once="">
          {secret}
        </code>
        <CopyButton text={secret} label={`Copy: ${label}`}>
          Copy
        </CopyButton>
      </div>
      {children}
    </div>
  );
}
