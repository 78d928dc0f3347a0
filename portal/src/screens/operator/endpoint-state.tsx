import { counted } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import type { EndpointRow } from "./rows.ts";

const STATES: Readonly<Record<EndpointRow["state"], { readonly tone: Tone; readonly says: string }>> = {
  in: { tone: "good", says: "In turn" },
  aside: { tone: "bad", says: "Set aside" },
  probe: { tone: "warn", says: "One request may try" },
  not_connected: { tone: "neutral", says: "Not connected" },
  retired: { tone: "neutral", says: "Retired" },
};

/** How long it is left alone. */
function wait(until: string): string {
  const leftMs = Date.parse(until) - Date.now();
  return leftMs < 1000 ? "until the next request" : `for ${durationText(leftMs)}`;
}

/** What the breaker has decided, and until when. */
export function EndpointState({ row }: { readonly row: EndpointRow }) {
  const { tone, says } = STATES[row.state];
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2 max-md:justify-end">
      <Badge tone={tone} dot>
        {says}
      </Badge>
      {row.aside_until !== null && <span className="text-xs text-soft">{wait(row.aside_until)}</span>}
      {row.state === "in" && row.failures_in_a_row > 0 && (
        <span className="text-xs text-warn">{counted(row.failures_in_a_row, "failure")} in a row</span>
      )}
    </span>
  );
}
