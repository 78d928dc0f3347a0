import { durationText } from "../../format/time.ts";
import { Drawer } from "../../ui/dialog.tsx";
import { Callout, KeyValue } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Num, Time, Unknown } from "../../ui/values.tsx";
import { EndpointState } from "./endpoint-state.tsx";
import type { EndpointRow } from "./rows.ts";

function percentilesText(of: EndpointRow["total"]) {
  if (of === null) return <Unknown />;
  return `p50 ${durationText(of.p50_ms)} · p95 ${durationText(of.p95_ms)}`;
}

export function EndpointDrawer({
  row,
  onClose,
}: {
  readonly row: EndpointRow | undefined;
  readonly onClose: () => void;
}) {
  return (
    <Drawer open={row !== undefined} onClose={onClose} title={row?.id ?? ""}>
      {row !== undefined && <Details row={row} />}
    </Drawer>
  );
}

function Details({ row }: { readonly row: EndpointRow }) {
  return (
    <>
      <KeyValue
        rows={[
          { name: "Status", value: <EndpointState row={row} /> },
          { name: "Model", value: row.model },
          { name: "Provider", value: `${row.provider}, ${row.region}` },
          { name: "Surfaces", value: row.surfaces.join(", ") },
          { name: "In flight", value: <Num value={row.in_flight} /> },
          { name: "Served", value: <Num value={row.served} /> },
          { name: "Failed", value: <Num value={row.failed} /> },
          { name: "Last failure", value: <Time at={row.last_failed_at} /> },
          { name: "Circuit breaker trips", value: <Num value={row.times_aside} /> },
          { name: "TTFB", value: percentilesText(row.first_byte) },
          { name: "Total time", value: percentilesText(row.total) },
          {
            name: "Planning estimate",
            value:
              row.expected === null ? (
                <Unknown />
              ) : (
                `TTFB ${durationText(row.expected.first_byte_ms)} · ${row.expected.per_token_ms} ms per token`
              ),
          },
        ]}
      />
      {row.answers > 0 && (
        <p className="text-xs text-soft">
          Latencies cover the last {row.answers} responses. Counts start when the gateway starts.
        </p>
      )}
      {row.state === "not_connected" && (
        <Callout
          title="Not connected"
          action={<LinkButton to={`/app/operator/providers?q=${row.provider}`}>Connect {row.provider}</LinkButton>}
        >
          There is no operator credential for this provider. Workspaces with their own key can still use it.
        </Callout>
      )}
    </>
  );
}
