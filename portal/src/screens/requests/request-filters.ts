import { useMemo } from "react";
import type { Surface } from "../../../../src/contract/surfaces.ts";
import type { Args, Row } from "../../api/client.ts";
import { HOUR_MS } from "../../format/time.ts";
import { useSearchParams } from "../../url-state.ts";

export type RequestRow = Row<"manageListRequests">;
export type RequestQuery = NonNullable<Args<"manageListRequests">["query"]>;

export const ENVIRONMENTS = ["live", "test"] as const;
/** A new surface fails to compile here until it is listed. */
const SURFACE_NAMES: Readonly<Record<Surface, Surface>> = {
  chat: "chat",
  messages: "messages",
  responses: "responses",
  gemini: "gemini",
  embeddings: "embeddings",
  rerank: "rerank",
  moderations: "moderations",
  images: "images",
  transcriptions: "transcriptions",
  speech: "speech",
  decisions: "decisions",
};
export const SURFACES = Object.values(SURFACE_NAMES);

/** Filters in the URL; the period is `range`, or `since` and `until` in the reader's time zone. */
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

/** A local datetime such as "2026-11-15T14:00" as UTC; undefined: invalid. */
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

/** The API query for the URL filters. A relative period is resolved once per filter change. */
export function useRequestQuery(): RequestQuery {
  const { all } = useSearchParams();
  const filterText = JSON.stringify([...FILTERS, ...PERIOD].map((name) => [name, all[name] ?? ""]));
  return useMemo(() => {
    const values = new Map<string, string>(JSON.parse(filterText));
    return queryOf((name) => values.get(name) ?? "", Date.now());
  }, [filterText]);
}
