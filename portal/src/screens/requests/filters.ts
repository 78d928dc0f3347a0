import { useMemo } from "react";
import { useSearchParams } from "../../address.ts";
import type { Args, Row } from "../../api/client.ts";
import { HOUR_MS } from "../../format/time.ts";

export type RequestRow = Row<"manageListRequests">;
export type RequestQuery = NonNullable<Args<"manageListRequests">["query"]>;

export const ENVIRONMENTS = ["live", "test"] as const;
export const SURFACES = [
  "chat",
  "messages",
  "responses",
  "embeddings",
  "transcriptions",
  "speech",
  "decisions",
] as const;

/** Filters as they stand in the address; the period is `range`, or `since` and `until` in the reader's own time. */
export const FILTERS = ["key", "member", "model", "provider", "app", "status", "env", "surface"] as const;
export const PERIOD = ["range", "since", "until"] as const;

const RANGES: Readonly<Record<string, number>> = {
  "1h": HOUR_MS,
  "24h": 24 * HOUR_MS,
  "7d": 7 * 24 * HOUR_MS,
  "30d": 30 * 24 * HOUR_MS,
};

function oneOf<const T extends string>(values: readonly T[], text: string): T | undefined {
  return values.find((value) => value === text);
}

/** "2026-11-15T14:00" of the reader's zone as the server wants it; what is no time is left out. */
function isoOf(local: string): string | undefined {
  const at = new Date(local);
  return local === "" || Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

function periodOf(get: (name: string) => string, nowMs: number): Pick<RequestQuery, "since" | "until"> {
  const lengthMs = RANGES[get("range")];
  if (lengthMs !== undefined) return { since: new Date(nowMs - lengthMs).toISOString() };
  const [since, until] = [isoOf(get("since")), isoOf(get("until"))];
  return { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) };
}

export function queryOf(get: (name: string) => string, nowMs: number): RequestQuery {
  const env = oneOf(ENVIRONMENTS, get("env"));
  const surface = oneOf(SURFACES, get("surface"));
  const texts = (["key", "member", "model", "provider", "app", "status"] as const)
    .map((name) => [name, get(name)] as const)
    .filter(([, value]) => value !== "");
  return {
    ...Object.fromEntries(texts),
    ...(env === undefined ? {} : { env }),
    ...(surface === undefined ? {} : { surface }),
    ...periodOf(get, nowMs),
  };
}

/** What the address asks for. A period that ends now begins anew with every change, and stands still in between. */
export function useRequestQuery(): RequestQuery {
  const { all } = useSearchParams();
  const asked = JSON.stringify([...FILTERS, ...PERIOD].map((name) => [name, all[name] ?? ""]));
  return useMemo(() => {
    const words = new Map<string, string>(JSON.parse(asked));
    return queryOf((name) => words.get(name) ?? "", Date.now());
  }, [asked]);
}
