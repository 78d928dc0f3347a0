import { notifyManager, onlineManager, type Query, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { ApiError } from "../api/error.ts";
import { shortText } from "../format/time.ts";
import { Button } from "../ui/button.tsx";
import { Callout } from "../ui/layout.tsx";

/** Screens go on showing what they were told last: while nobody answers, somebody has to say so. */
export function Away() {
  const client = useQueryClient();
  const cache = client.getQueryCache();
  const watch = useCallback(
    (changed: () => void) => {
      const later = notifyManager.batchCalls(changed);
      const ends = [cache.subscribe(later), onlineManager.subscribe(later)];
      return () => {
        for (const end of ends) end();
      };
    },
    [cache],
  );
  const sinceMs = useSyncExternalStore(watch, () => awaySince(cache.getAll()));
  return (
    <div role="status" data-print="no">
      {sinceMs !== undefined && (
        <div className="mb-5">
          <Callout
            tone="warn"
            title="The gateway cannot be reached"
            action={
              <Button size="small" onClick={() => void client.refetchQueries({ type: "active" })}>
                Try again
              </Button>
            }
          >
            {sinceMs === 0 ? "Check the connection." : `What you see is of ${shortText(sinceMs)}.`}
          </Callout>
        </div>
      )}
    </div>
  );
}

/** The time of the oldest answer on the screen that could not be asked for again, 0 without one; undefined: all is well. */
function awaySince(all: readonly Query[]): number | undefined {
  const isOnline = onlineManager.isOnline();
  const times = all
    .filter((query) => query.isActive() && query.state.data !== undefined && (!isOnline || isUnanswered(query)))
    .map(({ state }) => state.dataUpdatedAt);
  if (times.length > 0) return Math.min(...times);
  return isOnline ? undefined : 0;
}

/** Nobody answered, or a proxy in its place; a screen tells what the gateway itself says. */
const UNANSWERED: readonly number[] = [0, 502, 504];

function isUnanswered({ state: { status, error } }: Query): boolean {
  return status === "error" && error instanceof ApiError && UNANSWERED.includes(error.status);
}
