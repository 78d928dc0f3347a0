import { useManage } from "../../api/hooks.ts";
import { durationText } from "../../format/time.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Checkbox, Field, Input, Select } from "../../ui/field.tsx";
import { PageHeader, Stack, Stat, StatRow, Toolbar } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { type Column, Table, useSortParam } from "../../ui/table.tsx";
import { Num, Time, Unknown } from "../../ui/values.tsx";
import { useSearchParam, useSearchParams } from "../../url-state.ts";
import { EndpointDrawer } from "./endpoint-drawer.tsx";
import { EndpointState } from "./endpoint-state.tsx";
import type { EndpointRow } from "./rows.ts";

const REFETCH_MS = 5000;

const VIEWS = [
  { value: "connected", label: "Connected" },
  { value: "used", label: "Used since start" },
  { value: "trouble", label: "Failing" },
  { value: "all", label: "All endpoints" },
] as const;

function isShown(row: EndpointRow, show: string): boolean {
  switch (show) {
    case "used":
      return row.served + row.failed + row.in_flight > 0;
    case "trouble":
      return row.state === "aside" || row.state === "probe" || row.failures_in_a_row > 0;
    case "all":
      return true;
    default:
      return row.state !== "not_connected" && row.state !== "retired";
  }
}

function Percentiles({ of }: { readonly of: EndpointRow["total"] }) {
  if (of === null) return <Unknown />;
  return (
    <span className="figures whitespace-nowrap">
      {durationText(of.p50_ms)} <span className="text-soft">/ {durationText(of.p95_ms)}</span>
    </span>
  );
}

const COLUMNS: readonly Column<EndpointRow>[] = [
  {
    id: "id",
    header: "Endpoint",
    sortValue: (row) => row.id,
    className: "max-w-72",
    cell: (row) => (
      <>
        <span className="block truncate font-medium">{row.model}</span>
        <span className="block truncate text-xs text-soft">
          {row.provider} · {row.region}
        </span>
      </>
    ),
  },
  { id: "state", header: "Status", sortValue: (row) => row.state, cell: (row) => <EndpointState row={row} /> },
  {
    id: "in_flight",
    header: "In flight",
    sortValue: (row) => row.in_flight,
    align: "end",
    cell: (row) => <Num value={row.in_flight} />,
  },
  {
    id: "served",
    header: "Served",
    sortValue: (row) => row.served,
    align: "end",
    cell: (row) => <Num value={row.served} compact />,
  },
  {
    id: "failed",
    header: "Failed",
    sortValue: (row) => row.failed,
    align: "end",
    cell: (row) => <Num value={row.failed} compact className={row.failed > 0 ? "text-bad" : undefined} />,
  },
  {
    id: "first_byte",
    label: "TTFB",
    header: <span title="Time to first byte of streamed responses, p50 / p95">TTFB p50 / p95</span>,
    sortValue: (row) => row.first_byte?.p95_ms,
    align: "end",
    cell: (row) => <Percentiles of={row.first_byte} />,
  },
  {
    id: "total",
    label: "Total",
    header: <span title="Time to complete response, p50 / p95">Total p50 / p95</span>,
    sortValue: (row) => row.total?.p95_ms,
    align: "end",
    cell: (row) => <Percentiles of={row.total} />,
  },
  {
    id: "times_aside",
    header: "Trips",
    sortValue: (row) => row.times_aside,
    align: "end",
    cell: (row) => <Num value={row.times_aside} />,
  },
];

function HealthStats({ rows }: { readonly rows: readonly EndpointRow[] }) {
  const reachable = rows.filter((row) => isShown(row, "connected"));
  const openCircuits = reachable.filter(({ state }) => state === "aside").length;
  const sum = (of: (row: EndpointRow) => number) => rows.reduce((all, row) => all + of(row), 0);
  const failed = sum((row) => row.failed);
  return (
    <StatRow>
      <Stat label="Connected" value={<Num value={reachable.length} />} note={`of ${rows.length} in the catalogue`} />
      <Stat
        label="Circuit open"
        value={<Num value={openCircuits} />}
        tone={openCircuits > 0 ? "bad" : "good"}
        note={openCircuits > 0 ? "tried last until they recover" : "all endpoints active"}
      />
      <Stat label="In flight" value={<Num value={sum((row) => row.in_flight)} />} note="Requests at providers" />
      <Stat
        label="Failed attempts"
        value={<Num value={failed} compact />}
        note={
          <>
            of <Num value={failed + sum((row) => row.served)} compact /> since start
          </>
        }
      />
    </StatRow>
  );
}

export function Screen() {
  const search = useSearchParams();
  const [show, setShow] = useSearchParam("show", "connected");
  const [live, setLive] = useSearchParam("live", "on");
  const endpoints = useManage("manageListEndpoints", {}, live === "on" ? { refetchMs: REFETCH_MS } : {});
  const all = endpoints.data?.data ?? [];
  const searchText = search.get("q").toLowerCase();
  const provider = search.get("provider");
  const matches = all.filter(
    (row) =>
      isShown(row, show) &&
      (provider === "" || row.provider === provider) &&
      (searchText === "" || row.id.toLowerCase().includes(searchText)),
  );
  const providers = [...new Set(all.filter((row) => isShown(row, show)).map((row) => row.provider))].toSorted();
  return (
    <>
      <PageHeader
        title="Endpoint health"
        about="Endpoint health measured from this gateway's traffic. When an endpoint keeps failing, its circuit opens and it is tried last until a probe request succeeds."
        actions={
          <>
            <ApiButton calls={[{ id: "manageListEndpoints", args: {}, description: "List endpoint health" }]} />
            <LinkButton to="/app/operator/probes" icon="activity">
              Probes
            </LinkButton>
          </>
        }
      />
      <Stack>
        <HealthStats rows={all} />
        <div>
          <Toolbar>
            <Field label="Search" hideLabel className="w-56 max-sm:w-full">
              <Input
                type="search"
                placeholder="Search endpoints"
                value={search.get("q")}
                onChange={(event) => search.set({ q: event.target.value })}
              />
            </Field>
            <Field label="Show" hideLabel className="w-52 max-sm:w-full">
              <Select options={[...VIEWS]} value={show} onChange={(event) => setShow(event.target.value)} />
            </Field>
            <Field label="Provider" hideLabel className="w-44 max-sm:w-full">
              <Select
                options={[
                  { value: "", label: "All providers" },
                  ...providers.map((one) => ({ value: one, label: one })),
                ]}
                value={provider}
                onChange={(event) => search.set({ provider: event.target.value })}
              />
            </Field>
            <span className="ml-auto flex items-center gap-3 text-xs text-soft">
              {endpoints.data !== undefined && (
                <span>
                  Updated <Time at={endpoints.data.at} />
                </span>
              )}
              <Checkbox
                label="Auto-refresh"
                checked={live === "on"}
                onChange={(on) => setLive(on ? "on" : "off")}
                className="[&_label]:min-h-0"
              />
            </span>
          </Toolbar>
          <Table
            label="Endpoints"
            columns={COLUMNS}
            rows={matches}
            keyOf={(row) => row.id}
            linkOf={(row) => `/app/operator/health?${new URLSearchParams({ ...search.all, endpoint: row.id })}`}
            query={endpoints}
            {...useSortParam("id")}
            empty={<NoEndpoints show={show} clear={() => search.set({ q: null, provider: null, show: null })} />}
          />
        </div>
      </Stack>
      <EndpointDrawer
        row={all.find(({ id }) => id === search.get("endpoint"))}
        onClose={() => search.set({ endpoint: null })}
      />
    </>
  );
}

function NoEndpoints({ show, clear }: { readonly show: string; readonly clear: () => void }) {
  if (show === "trouble")
    return <EmptyState icon="check" title="No failing endpoints" hint="All connected endpoints are active." />;
  return (
    <EmptyState icon="gauge" title="No endpoints match" hint="Remove a filter or connect a provider.">
      <Button onClick={clear}>Clear filters</Button>
      <LinkButton to="/app/operator/providers">Connect provider</LinkButton>
    </EmptyState>
  );
}
