import { useSearchParams } from "../../address.ts";
import { MINUTE_MS } from "../../format/time.ts";
import { useNow } from "../../ui/values.tsx";
import { METRICS, type Metric } from "./figures.ts";
import { type Period, periodOf, RANGE_FIRST } from "./period.ts";

export const GROUPS = [
  { value: "", label: "Nothing" },
  { value: "key", label: "Key" },
  { value: "model", label: "Model" },
  { value: "provider", label: "Provider" },
  { value: "member", label: "Member" },
  { value: "app", label: "App" },
] as const;
type Group = (typeof GROUPS)[number]["value"];

const ENVIRONMENTS = ["live", "test", "all"] as const;
type Environment = (typeof ENVIRONMENTS)[number];

export type UsageQuery = {
  readonly metric: Metric;
  readonly group: Group;
  readonly environment: Environment;
  readonly draw: "stack" | "lines";
  readonly picked: readonly string[];
  readonly period: Period;
};

/** Everything the screen shows stands in the address; what is not there is as it usually is. */
export function useUsageQuery() {
  const search = useSearchParams();
  const nowMs = useNow(true, MINUTE_MS);
  const metric = METRICS.find(({ id }) => id === search.get("metric"))?.id ?? "cost";
  const group = GROUPS.find(({ value }) => value === search.get("group", "key"))?.value ?? "key";
  const query: UsageQuery = {
    metric,
    group: search.get("group") === NO_GROUP ? "" : group,
    environment: ENVIRONMENTS.find((one) => one === search.get("env")) ?? "live",
    draw: search.get("draw") === "lines" ? "lines" : "stack",
    picked: readPicked(search.get("pick")),
    period: periodOf(
      {
        range: search.get("range", RANGE_FIRST),
        by: search.get("by"),
        from: search.get("from"),
        to: search.get("to"),
      },
      nowMs,
    ),
  };
  return { query, set: search.set };
}

/** No group is a choice as well, and an empty value would be left out of the address. */
export const NO_GROUP = "none";
const NAMELESS = "~";

function readPicked(text: string): string[] {
  if (text === "") return [];
  return text.split(",").map((part) => (part === NAMELESS ? "" : decoded(part)));
}

export function pickedText(picked: readonly string[]): string | null {
  return picked.length === 0
    ? null
    : picked.map((name) => (name === "" ? NAMELESS : encodeURIComponent(name))).join(",");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
