import { counted } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { Drawer } from "../../ui/dialog.tsx";
import { Callout, KeyValue } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Num, Time, Unknown } from "../../ui/values.tsx";
import { EndpointState } from "./endpoint-state.tsx";
import type { EndpointRow } from "./rows.ts";

function spread(of: EndpointRow["total"]) {
  if (of === null) return <Unknown />;
  return `${durationText(of.p50_ms)} in the middle, ${durationText(of.p95_ms)} for the slowest of twenty`;
}

/** All that is known of one endpoint. */
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
          { name: "State", value: <EndpointState row={row} /> },
          { name: "Model", value: row.model },
          { name: "Provider", value: `${row.provider}, ${row.region}` },
          { name: "Surfaces", value: row.surfaces.join(", ") },
          { name: "In flight", value: <Num value={row.in_flight} /> },
          { name: "Served", value: <Num value={row.served} /> },
          { name: "Failed", value: <Num value={row.failed} /> },
          { name: "Last failure", value: <Time at={row.last_failed_at} /> },
          { name: "Set aside", value: row.times_aside === 0 ? "never" : counted(row.times_aside, "time") },
          { name: "First byte", value: spread(row.first_byte) },
          { name: "Whole answer", value: spread(row.total) },
          {
            name: "Planned with",
            value:
              row.expected === null ? (
                <Unknown />
              ) : (
                `${durationText(row.expected.first_byte_ms)} to the first byte, ${row.expected.per_token_ms} ms for each token`
              ),
          },
        ]}
      />
      {row.answers > 0 && (
        <p className="text-xs text-soft">
          Times are of the last {row.answers} answers at the provider's pace. Counts begin with the start of the
          gateway.
        </p>
      )}
      {row.state === "not_connected" && (
        <Callout
          title="Nobody can be sent there"
          action={<LinkButton to={`/app/operator/providers?q=${row.provider}`}>Connect {row.provider}</LinkButton>}
        >
          The operator has no credential for this provider. Workspaces with a key of their own are served all the same.
        </Callout>
      )}
    </>
  );
}
