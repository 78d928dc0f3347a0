import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { ApiError, apiErrorOf } from "../api/error.ts";
import { Button } from "../ui/button.tsx";
import { ErrorState } from "../ui/error-state.tsx";

/** A screen that broke. A new version of the portal is the usual reason why a part cannot be loaded. */
export function Crash({ error }: ErrorComponentProps) {
  const router = useRouter();
  const isPartMissing = /dynamically imported module|Importing a module script/i.test(apiErrorOf(error).message);
  const title = isPartMissing
    ? "The portal was updated"
    : error instanceof ApiError
      ? "This could not be loaded"
      : "This screen broke";
  const said = isPartMissing ? new Error("Load the page again to get the new version.") : error;
  return (
    <ErrorState
      error={said}
      title={title}
      {...(error instanceof ApiError ? { onRetry: () => void router.invalidate() } : {})}
    >
      <Button look="primary" onClick={() => location.reload()}>
        Load the page again
      </Button>
    </ErrorState>
  );
}
