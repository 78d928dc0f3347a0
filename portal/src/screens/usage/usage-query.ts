import { MINUTE_MS } from "../../format/time.ts";
import { useNow } from "../../ui/values.tsx";
import { useSearchParams } from "../../url-state.ts";
import { DEFAULT_RANGE, type Period, periodOf } from "./period.ts";
import { METRICS, type Metric } from "./usage-sums.ts";

export const GROUPS = [
  { value: "", label: "None" },
  { value: "key", label: "Key" },
  { value: "model", label: "Model" },
  { value: "provider", label: "Provider" },
  { value: "level", label: "Level" },
  { value: "country", label: "Country" },
  { value: "member", label: "Member" },
  { value: "app", label: "App" },
] as const;
type Group = (typeof GROUPS)[number]["value"];

const ENVIRONMENTS = ["live", "test", "all"] as const;
type Environment = (typeof ENVIRONMENTS)[number];
/** Home shows the same. */
export const DEFAULT_ENVIRONMENT = "all" satisfies Environment;

export type UsageQuery = {
  readonly metric: Metric;
  readonly group: Group;
  readonly environment: Environment;
  readonly chartKind: "stack" | "lines";
  readonly selected: readonly string[];
  readonly period: Period;
};

/** The screen's URL state with defaults. */
export function useUsageQuery() {
  const search = useSearchParams();
  const nowMs = useNow(true, MINUTE_MS);
  const metric = METRICS.find(({ id }) => id === search.get("metric"))?.id ?? "cost";
  const group = GROUPS.find(({ value }) => value === search.get("group", "key"))?.value ?? "key";
  const query: UsageQuery = {
    metric,
    group: search.get("group") === NO_GROUP ? "" : group,
    environment: ENVIRONMENTS.find((one) => one === search.get("env")) ?? DEFAULT_ENVIRONMENT,
    chartKind: search.get("draw") === "lines" ? "lines" : "stack",
    selected: parseSelected(search.get("pick")),
    period: periodOf(
      {
        range: search.get("range", DEFAULT_RANGE),
        by: search.get("by"),
        from: search.get("from"),
        to: search.get("to"),
      },
      nowMs,
    ),
  };
  return { query, set: search.set };
}

/** An explicit value, because empty query parameters are dropped. */
export const NO_GROUP = "none";
const UNNAMED = "~";

function parseSelected(text: string): string[] {
  if (text === "") return [];
  return text.split(",").map((part) => (part === UNNAMED ? "" : decoded(part)));
}

export function selectedText(selected: readonly string[]): string | null {
  return selected.length === 0
    ? null
    : selected.map((name) => (name === "" ? UNNAMED : encodeURIComponent(name))).join(",");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
