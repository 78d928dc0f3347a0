import { notifyManager, onlineManager, type Query, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { ApiError } from "../api/error.ts";
import { shortText } from "../format/time.ts";
import { Button } from "../ui/button.tsx";
import { Callout } from "../ui/layout.tsx";

/** Warns that screens show cached data while the gateway is unreachable. */
export function ConnectionNotice() {
  const client = useQueryClient();
  const cache = client.getQueryCache();
  const watch = useCallback(
    (changed: () => void) => {
      const batched = notifyManager.batchCalls(changed);
      const unsubscribes = [cache.subscribe(batched), onlineManager.subscribe(batched)];
      return () => {
        for (const unsubscribe of unsubscribes) unsubscribe();
      };
    },
    [cache],
  );
  const sinceMs = useSyncExternalStore(watch, () => staleSince(cache.getAll()));
  return (
    <div role="status" data-print="no">
      {sinceMs !== undefined && (
        <div className="mb-5">
          <Callout
            tone="warn"
            title="Can't reach the gateway"
            action={
              <Button size="small" onClick={() => void client.refetchQueries({ type: "active" })}>
                Try again
              </Button>
            }
          >
            {sinceMs === 0 ? "Check your connection." : `Showing data from ${shortText(sinceMs)}.`}
          </Callout>
        </div>
      )}
    </div>
  );
}

/** The age of the oldest response that could not be refetched; 0: offline without data; undefined: connected. */
function staleSince(all: readonly Query[]): number | undefined {
  const isOnline = onlineManager.isOnline();
  const times = all
    .filter((query) => query.isActive() && query.state.data !== undefined && (!isOnline || isUnreachable(query)))
    .map(({ state }) => state.dataUpdatedAt);
  if (times.length > 0) return Math.min(...times);
  return isOnline ? undefined : 0;
}

/** No response, or a proxy error; errors of the gateway itself are shown by the screen. */
const UNREACHABLE_STATUSES: readonly number[] = [0, 502, 504];

function isUnreachable({ state: { status, error } }: Query): boolean {
  return status === "error" && error instanceof ApiError && UNREACHABLE_STATUSES.includes(error.status);
}
