import { useEffect, useState } from "react";
import { useManage } from "../../api/hooks.ts";
import type { RequestQuery, RequestRow } from "./request-filters.ts";

const POLL_MS = 2000;
const POLL_ROWS = 200;
const LIVE_ROWS_MAX = 1000;

/** Below this scroll position, new rows are held back so that the table does not move. */
const TOP_PX = 80;

type LiveRequests = {
  /** Received since the live view was turned on, and shown. */
  readonly received: readonly RequestRow[];
  /** Received while scrolled down; shown on request. */
  readonly waiting: number;
  readonly show: () => void;
  readonly error: Error | null;
};

/**
 * Polls the log for completed requests. Polling covers all instances and requests that began before
 * rows that are already shown.
 */
export function useLiveRequests(
  workspace: string,
  query: RequestQuery,
  isOn: boolean,
  shown: readonly RequestRow[] | undefined,
): LiveRequests {
  const args = { params: { workspace }, query: { ...query, limit: POLL_ROWS } };
  const newest = useManage("manageListRequests", args, { enabled: isOn, refetchMs: POLL_MS });
  const [received, setReceived] = useState<readonly RequestRow[]>([]);
  const [shownCount, setShownCount] = useState(0);
  const found = newest.data?.data;
  useEffect(() => {
    if (!isOn || found === undefined || shown === undefined) return;
    setReceived((before) => {
      const knownIds = new Set([...before, ...shown].map(({ id }) => id));
      // Older requests come with the next page.
      const oldest = shown.at(-1)?.created_at ?? "";
      const added = found.filter(({ id, created_at }) => !knownIds.has(id) && created_at >= oldest);
      return added.length === 0 ? before : [...before, ...added].slice(-LIVE_ROWS_MAX);
    });
  }, [isOn, found, shown]);
  useEffect(() => {
    if (window.scrollY < TOP_PX) setShownCount(received.length);
  }, [received]);
  return {
    received: received.slice(0, shownCount),
    waiting: received.length - Math.min(shownCount, received.length),
    show: () => {
      setShownCount(received.length);
      window.scrollTo({ top: 0 });
    },
    error: isOn ? newest.error : null,
  };
}

/** Merges pages and live requests, newest first, without duplicates. */
export function mergeRequests(received: readonly RequestRow[], rows: readonly RequestRow[]): RequestRow[] {
  const byId = new Map([...received, ...rows].map((row) => [row.id, row]));
  return [...byId.values()].toSorted(
    (a, b) => b.created_at.localeCompare(a.created_at) || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0),
  );
}
