import type { ReactNode } from "react";
import { apiErrorOf } from "../api/error.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy-button.tsx";
import { ErrorCode } from "./docs-link.tsx";
import { Icon } from "./icon.tsx";
import { scrollIntoView } from "./scroll-into-view.ts";

type Props = {
  readonly error: unknown;
  readonly title?: string | undefined;
  readonly onRetry?: (() => void) | undefined;
  readonly children?: ReactNode | undefined;
};

/** The API's error message with request ID and retry. */
export function ErrorState({ error, title = "Couldn't load this page", onRetry, children }: Props) {
  const { message, code, requestId } = apiErrorOf(error);
  return (
    <div role="alert" className="grid justify-items-center gap-3 px-6 py-10 text-center">
      <span className="grid size-10 place-items-center rounded-full bg-bad-soft text-bad">
        <Icon name="warning" className="size-5" />
      </span>
      <div className="grid max-w-lg gap-1">
        <p className="font-semibold">{title}</p>
        <p className="text-soft text-pretty">{message}</p>
      </div>
      <RequestId code={code} requestId={requestId} />
      <div className="flex flex-wrap justify-center gap-2">
        {onRetry !== undefined && (
          <Button icon="refresh" onClick={onRetry}>
            Try again
          </Button>
        )}
        {children}
      </div>
    </div>
  );
}

/** A compact error for forms and dialogs. */
export function ErrorNote({ error }: { readonly error: unknown }) {
  if (error === null || error === undefined) return null;
  const { message, code, requestId } = apiErrorOf(error);
  return (
    <div
      ref={scrollIntoView}
      role="alert"
      // Sticky dialog buttons cover the end of the form.
      className="grid scroll-mb-20 gap-1 rounded-md border border-bad/40 bg-bad-soft px-3 py-2 text-bad"
    >
      <p className="flex gap-2">
        <Icon name="warning" className="mt-0.5" />
        <span className="min-w-0 break-words">{message}</span>
      </p>
      <RequestId code={code} requestId={requestId} />
    </div>
  );
}

function RequestId({ code, requestId }: { readonly code: string; readonly requestId: string | null }) {
  if (requestId === null) return null;
  return (
    <p className="flex flex-wrap items-center justify-center gap-x-2 text-xs text-soft">
      <ErrorCode code={code} />
      <span className="font-mono">{requestId}</span>
      <CopyButton text={requestId} label="Copy request ID" />
    </p>
  );
}
