import { useEffect, useState } from "react";
import { useManage } from "../../api/hooks.ts";
import type { RequestQuery, RequestRow } from "./filters.ts";

const EVERY_MS = 2000;
const ROWS_A_LOOK = 200;
const KEPT_MAX = 1000;

/** Further down than this somebody reads: nothing may move under their eyes. */
const TOP_PX = 80;

type Tail = {
  /** Came since the tail was switched on and is shown. */
  readonly came: readonly RequestRow[];
  /** Came while the reader was further down: shown when they ask for it. */
  readonly waiting: number;
  readonly show: () => void;
  readonly error: Error | null;
};

/**
 * Calls that ended since. The log is asked again every two seconds, so a call of any process of the gateway appears,
 * also one that began before others that are shown already.
 */
export function useTail(
  workspace: string,
  query: RequestQuery,
  isOn: boolean,
  shown: readonly RequestRow[] | undefined,
): Tail {
  const asked = { params: { workspace }, query: { ...query, limit: ROWS_A_LOOK } };
  const newest = useManage("manageListRequests", asked, { enabled: isOn, refetchMs: EVERY_MS });
  const [came, setCame] = useState<readonly RequestRow[]>([]);
  const [released, setReleased] = useState(0);
  const found = newest.data?.data;
  useEffect(() => {
    if (!isOn || found === undefined || shown === undefined) return;
    setCame((before) => {
      const known = new Set([...before, ...shown].map(({ id }) => id));
      // Older than the last row is not new: it comes with the next page.
      const oldest = shown.at(-1)?.created_at ?? "";
      const fresh = found.filter(({ id, created_at }) => !known.has(id) && created_at >= oldest);
      return fresh.length === 0 ? before : [...before, ...fresh].slice(-KEPT_MAX);
    });
  }, [isOn, found, shown]);
  useEffect(() => {
    if (window.scrollY < TOP_PX) setReleased(came.length);
  }, [came]);
  return {
    came: came.slice(0, released),
    waiting: came.length - Math.min(released, came.length),
    show: () => {
      setReleased(came.length);
      window.scrollTo({ top: 0 });
    },
    error: isOn ? newest.error : null,
  };
}

/** Pages and the tail as one list, newest first, each call once. */
export function together(came: readonly RequestRow[], rows: readonly RequestRow[]): RequestRow[] {
  const byId = new Map([...came, ...rows].map((row) => [row.id, row]));
  return [...byId.values()].toSorted(
    (a, b) => b.created_at.localeCompare(a.created_at) || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0),
  );
}
