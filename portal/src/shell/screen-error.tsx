import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { ApiError, apiErrorOf } from "../api/error.ts";
import { Button } from "../ui/button.tsx";
import { ErrorState } from "../ui/error-state.tsx";

/** Error boundary of a screen. A missing chunk usually means that the portal was updated. */
export function ScreenError({ error }: ErrorComponentProps) {
  const router = useRouter();
  const isChunkMissing = /dynamically imported module|Importing a module script/i.test(apiErrorOf(error).message);
  const title = isChunkMissing
    ? "The portal was updated"
    : error instanceof ApiError
      ? "Couldn't load this page"
      : "Something went wrong";
  const shownError = isChunkMissing ? new Error("Reload the page to get the new version.") : error;
  return (
    <ErrorState
      error={shownError}
      title={title}
      {...(error instanceof ApiError ? { onRetry: () => void router.invalidate() } : {})}
    >
      <Button variant="primary" onClick={() => location.reload()}>
        Reload page
      </Button>
    </ErrorState>
  );
}
