import type { JsonObject } from "../../kit/json.ts";
import { isJsonObject } from "../../kit/json.ts";
import type { createRequestSeries } from "./request-series.ts";

const STATUSES: ReadonlySet<unknown> = new Set(["hit", "miss", "bypass"]);

/** Counts what the response cache did for a request, from the log detail of its record. */
export function recordCacheUse(
  { cacheRequests, cacheSaved }: Pick<ReturnType<typeof createRequestSeries>, "cacheRequests" | "cacheSaved">,
  { cache }: JsonObject,
): void {
  if (!isJsonObject(cache) || !STATUSES.has(cache["status"])) return;
  cacheRequests.add(`status="${cache["status"]}"`, 1);
  const { saved, currency } = cache;
  if (typeof saved === "string" && typeof currency === "string")
    cacheSaved.add(`currency="${currency}"`, Number(saved));
}
