import { useState } from "react";
import { useSearchParam, useSearchParams } from "../../address.ts";
import { useManage } from "../../api/hooks.ts";
import { durationText } from "../../format/time.ts";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Checkbox, Field, Input, Select } from "../../ui/field.tsx";
import { PageHeader, Stack, Stat, StatRow, Toolbar } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { type Column, sortOf, sortRows, sortText, Table } from "../../ui/table.tsx";
import { Num, Time, Unknown } from "../../ui/values.tsx";
import { EndpointDrawer } from "./endpoint-drawer.tsx";
import { EndpointState } from "./endpoint-state.tsx";
import type { EndpointRow } from "./rows.ts";

const EVERY_MS = 5000;
/** As many as are drawn at once. */
const SHOWN = 100;

const SHOWS = [
  { value: "connected", label: "Connected" },
  { value: "used", label: "Used since the start" },
  { value: "trouble", label: "In trouble" },
  { value: "all", label: "All of the catalogue" },
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

function Spread({ of }: { readonly of: EndpointRow["total"] }) {
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
    sortable: true,
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
  { id: "state", header: "State", sortable: true, cell: (row) => <EndpointState row={row} /> },
  {
    id: "in_flight",
    header: "In flight",
    align: "end",
    sortable: true,
    cell: (row) => <Num value={row.in_flight} />,
  },
  { id: "served", header: "Served", align: "end", sortable: true, cell: (row) => <Num value={row.served} compact /> },
  {
    id: "failed",
    header: "Failed",
    align: "end",
    sortable: true,
    cell: (row) => <Num value={row.failed} compact className={row.failed > 0 ? "text-bad" : undefined} />,
  },
  {
    id: "first_byte",
    header: (
      <span title="Half of the streams began within the first time, nineteen of twenty within the second">
        First byte
      </span>
    ),
    align: "end",
    sortable: true,
    cell: (row) => <Spread of={row.first_byte} />,
  },
  {
    id: "total",
    header: (
      <span title="Half of the answers were whole within the first time, nineteen of twenty within the second">
        Answer
      </span>
    ),
    align: "end",
    sortable: true,
    cell: (row) => <Spread of={row.total} />,
  },
  {
    id: "times_aside",
    header: "Times aside",
    align: "end",
    sortable: true,
    cell: (row) => <Num value={row.times_aside} />,
  },
];

function sortValueOf(row: EndpointRow, by: string): string | number | null {
  switch (by) {
    case "state":
      return row.state;
    case "in_flight":
    case "served":
    case "failed":
    case "times_aside":
      return row[by];
    case "first_byte":
    case "total":
      return row[by]?.p95_ms ?? null;
    default:
      return row.id;
  }
}

function Figures({ rows }: { readonly rows: readonly EndpointRow[] }) {
  const reachable = rows.filter((row) => isShown(row, "connected"));
  const aside = reachable.filter(({ state }) => state === "aside").length;
  const sum = (of: (row: EndpointRow) => number) => rows.reduce((all, row) => all + of(row), 0);
  const failed = sum((row) => row.failed);
  return (
    <StatRow>
      <Stat label="Connected" value={<Num value={reachable.length} />} note={`of ${rows.length} in the catalogue`} />
      <Stat
        label="Set aside"
        value={<Num value={aside} />}
        tone={aside > 0 ? "bad" : "good"}
        note={aside > 0 ? "tried last until they answer" : "all are asked in turn"}
      />
      <Stat label="In flight" value={<Num value={sum((row) => row.in_flight)} />} note="requests at providers now" />
      <Stat
        label="Failed attempts"
        value={<Num value={failed} compact />}
        note={
          <>
            of <Num value={failed + sum((row) => row.served)} compact /> since the start
          </>
        }
      />
    </StatRow>
  );
}

/** How every endpoint is doing, from this gateway's own traffic. */
export function Screen() {
  const search = useSearchParams();
  const [show, setShow] = useSearchParam("show", "connected");
  const [sort, setSort] = useSearchParam("sort", "id");
  const [live, setLive] = useSearchParam("live", "on");
  const [most, setMost] = useState(SHOWN);
  const asked = useManage("manageListEndpoints", {}, live === "on" ? { refetchMs: EVERY_MS } : {});
  const all = asked.data?.data ?? [];
  const words = search.get("q").toLowerCase();
  const provider = search.get("provider");
  const found = all.filter(
    (row) =>
      isShown(row, show) &&
      (provider === "" || row.provider === provider) &&
      (words === "" || row.id.toLowerCase().includes(words)),
  );
  const rows = sortRows(found, sortOf(sort), sortValueOf);
  const providers = [...new Set(all.filter((row) => isShown(row, show)).map((row) => row.provider))].toSorted();
  return (
    <>
      <PageHeader
        title="Endpoint health"
        about="What this gateway sees of each endpoint. An endpoint that keeps failing is set aside and tried last; one request then finds out whether it is back."
        actions={
          <>
            <CallButton calls={[{ id: "manageListEndpoints", args: {}, says: "Show how every endpoint is doing" }]} />
            <LinkButton to="/app/operator/probes" icon="pulse">
              Probes
            </LinkButton>
          </>
        }
      />
      <Stack>
        <Figures rows={all} />
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
              <Select options={[...SHOWS]} value={show} onChange={(event) => setShow(event.target.value)} />
            </Field>
            <Field label="Provider" hideLabel className="w-44 max-sm:w-full">
              <Select
                options={[
                  { value: "", label: "Every provider" },
                  ...providers.map((one) => ({ value: one, label: one })),
                ]}
                value={provider}
                onChange={(event) => search.set({ provider: event.target.value })}
              />
            </Field>
            <span className="ml-auto flex items-center gap-3 text-xs text-soft">
              {asked.data !== undefined && (
                <span>
                  Read <Time at={asked.data.at} />
                </span>
              )}
              <Checkbox
                label="Refresh"
                checked={live === "on"}
                onChange={(on) => setLive(on ? "on" : "off")}
                className="[&_label]:min-h-0"
              />
            </span>
          </Toolbar>
          <Table
            label="Endpoints"
            columns={COLUMNS}
            rows={rows.slice(0, most)}
            keyOf={(row) => row.id}
            linkOf={(row) => `/app/operator/health?${new URLSearchParams({ ...search.all, endpoint: row.id })}`}
            query={{ ...asked, hasMore: rows.length > most, loadMore: () => setMost(most + SHOWN) }}
            sort={sortOf(sort)}
            onSort={(next) => setSort(sortText(next))}
            empty={<Nothing show={show} clear={() => search.set({ q: null, provider: null, show: null })} />}
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

function Nothing({ show, clear }: { readonly show: string; readonly clear: () => void }) {
  if (show === "trouble")
    return (
      <EmptyState
        icon="check"
        title="No endpoint is in trouble"
        hint="Every one that is connected is asked in its turn."
      />
    );
  return (
    <EmptyState
      icon="gauge"
      title="No endpoint fits"
      hint="Take a filter out, or connect a provider: only endpoints of connected providers can be asked."
    >
      <Button onClick={clear}>Clear filters</Button>
      <LinkButton to="/app/operator/providers">Connect a provider</LinkButton>
    </EmptyState>
  );
}
