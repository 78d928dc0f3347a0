import { urlOf } from "../../api/client.ts";
import { usePages } from "../../api/hooks.ts";
import { counted } from "../../format/number.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button, buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Switch } from "../../ui/field.tsx";
import { Callout, PageHeader } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Table } from "../../ui/table.tsx";
import { useSearchParam, useSearchParams, useWorkspace } from "../../url-state.ts";
import { requestColumns } from "./columns.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { mergeRequests, useLiveRequests } from "./live-requests.ts";
import { FILTERS, PERIOD, type RequestQuery, useRequestQuery } from "./request-filters.ts";

const PAGE_ROWS = 50;

export function Screen() {
  const { workspace } = useWorkspace();
  const query = useRequestQuery();
  const [live, setLive] = useSearchParam("live");
  const params = { workspace };
  const exportAs = (format: "csv" | "jsonl") =>
    window.location.assign(urlOf("manageExportRequests", { params, query: { ...query, format } }));
  return (
    <>
      <PageHeader
        title="Requests"
        about="All requests with endpoint, location, cost and latency. The log contains no content."
        actions={
          <>
            <ApiButton calls={[{ id: "manageListRequests", args: { params, query } }]} />
            <Menu
              label="Export requests"
              className={buttonClass("plain")}
              items={[
                { label: "Export as CSV", icon: "download", onSelect: () => exportAs("csv") },
                { label: "Export as JSON Lines", icon: "download", onSelect: () => exportAs("jsonl") },
              ]}
            >
              Export
            </Menu>
            <Switch
              label="Live"
              checked={live === "1"}
              onChange={(isOn) => setLive(isOn ? "1" : "")}
              className="items-center gap-2"
            />
          </>
        }
      />
      <FilterBar />
      <RequestList key={`${workspace} ${JSON.stringify(query)}`} query={query} isLive={live === "1"} />
    </>
  );
}

function RequestList({ query, isLive }: { readonly query: RequestQuery; readonly isLive: boolean }) {
  const { workspace, at } = useWorkspace();
  const log = usePages("manageListRequests", { params: { workspace }, query: { ...query, limit: PAGE_ROWS } });
  const live = useLiveRequests(workspace, query, isLive, log.isPending ? undefined : log.rows);
  const rows = mergeRequests(live.received, log.rows);
  const newIds = new Set(live.received.map(({ id }) => id));
  return (
    <div className="grid gap-3">
      {live.error !== null && (
        <Callout tone="warn" title="Live view interrupted">
          {live.error.message} It resumes automatically.
        </Callout>
      )}
      <p role="status" className="sr-only">
        {isLive ? `Live: ${counted(live.received.length + live.waiting, "new request")}` : ""}
      </p>
      {live.waiting > 0 && (
        <Button
          variant="primary"
          size="small"
          icon="up"
          onClick={live.show}
          className="fixed top-16 left-1/2 z-20 -translate-x-1/2 shadow-pop"
        >
          {live.waiting} new {live.waiting === 1 ? "request" : "requests"}
        </Button>
      )}
      <Table
        label="Requests"
        columns={requestColumns(({ id }) => newIds.has(id))}
        rows={rows}
        keyOf={({ id }) => id}
        linkOf={({ id }) => at(`requests/${encodeURIComponent(id)}`)}
        query={log}
        empty={<NoRequests isLive={isLive} />}
      />
    </div>
  );
}

function NoRequests({ isLive }: { readonly isLive: boolean }) {
  const { at } = useWorkspace();
  const { get, set } = useSearchParams();
  const names = [...FILTERS, ...PERIOD];
  if (names.some((name) => get(name) !== ""))
    return (
      <EmptyState icon="filter" title="No requests match" hint="Remove a filter or choose a longer period.">
        <Button onClick={() => set(Object.fromEntries(names.map((name) => [name, null])))}>Clear filters</Button>
      </EmptyState>
    );
  return (
    <EmptyState
      icon="list"
      title={isLive ? "Waiting for requests" : "No requests yet"}
      hint="Connect a client or try a model. Requests appear here when they complete."
    >
      <LinkButton to={at("connect")} icon="plug" variant="primary">
        Connect client
      </LinkButton>
      <LinkButton to={at("playground")} icon="play">
        Open playground
      </LinkButton>
    </EmptyState>
  );
}
