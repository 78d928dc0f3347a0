import { counted } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import type { EndpointRow } from "./rows.ts";

const STATES: Readonly<Record<EndpointRow["state"], { readonly tone: Tone; readonly description: string }>> = {
  in: { tone: "good", description: "Active" },
  aside: { tone: "bad", description: "Circuit open" },
  probe: { tone: "warn", description: "Circuit half-open" },
  not_connected: { tone: "neutral", description: "Not connected" },
  retired: { tone: "neutral", description: "Retired" },
};

/** The time until the next probe request. */
function nextProbeText(until: string): string {
  const remainingMs = Date.parse(until) - Date.now();
  return remainingMs < 1000 ? "Probe on next request" : `Next probe in ${durationText(remainingMs)}`;
}

export function EndpointState({ row }: { readonly row: EndpointRow }) {
  const { tone, description } = STATES[row.state];
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2 max-md:justify-end">
      <Badge tone={tone} dot>
        {description}
      </Badge>
      {row.aside_until !== null && <span className="text-xs text-soft">{nextProbeText(row.aside_until)}</span>}
      {row.state === "in" && row.failures_in_a_row > 0 && (
        <span className="text-xs text-warn">{counted(row.failures_in_a_row, "consecutive failure")}</span>
      )}
    </span>
  );
}
