import { useSearchParam, useSearchParams, useWorkspace } from "../../address.ts";
import { urlOf } from "../../api/client.ts";
import { usePages } from "../../api/hooks.ts";
import { counted } from "../../format/number.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Switch } from "../../ui/field.tsx";
import { Callout, PageHeader } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Table } from "../../ui/table.tsx";
import { requestColumns } from "./columns.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { FILTERS, PERIOD, type RequestQuery, useRequestQuery } from "./filters.ts";
import { together, useTail } from "./tail.ts";

const PAGE_ROWS = 50;

/** Every call of the workspace, or of a member their own, newest first. */
export function Screen() {
  const { workspace } = useWorkspace();
  const query = useRequestQuery();
  const [live, setLive] = useSearchParam("live");
  const params = { workspace };
  const save = (format: "csv" | "jsonl") =>
    window.location.assign(urlOf("manageExportRequests", { params, query: { ...query, format } }));
  return (
    <>
      <PageHeader
        title="Requests"
        about="Every call with who served it, where, what it cost and how long it took. Content is not part of the log."
        actions={
          <>
            <CallButton calls={[{ id: "manageListRequests", args: { params, query } }]} />
            <Menu
              label="Export these requests"
              className={buttonClass("plain")}
              items={[
                { label: "CSV, for a spreadsheet", icon: "download", onSelect: () => save("csv") },
                { label: "JSON lines, for programs", icon: "download", onSelect: () => save("jsonl") },
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
      <List key={`${workspace} ${JSON.stringify(query)}`} query={query} isLive={live === "1"} />
    </>
  );
}

function List({ query, isLive }: { readonly query: RequestQuery; readonly isLive: boolean }) {
  const { workspace, at } = useWorkspace();
  const log = usePages("manageListRequests", { params: { workspace }, query: { ...query, limit: PAGE_ROWS } });
  const tail = useTail(workspace, query, isLive, log.isPending ? undefined : log.rows);
  const rows = together(tail.came, log.rows);
  const fresh = new Set(tail.came.map(({ id }) => id));
  return (
    <div className="grid gap-3">
      {tail.error !== null && (
        <Callout tone="warn" title="The live view waits">
          {tail.error.message} It goes on by itself.
        </Callout>
      )}
      <p role="status" className="sr-only">
        {isLive ? `Live: ${counted(tail.came.length + tail.waiting, "new request")}` : ""}
      </p>
      {tail.waiting > 0 && (
        <Button
          look="primary"
          size="small"
          icon="up"
          onClick={tail.show}
          className="fixed top-16 left-1/2 z-20 -translate-x-1/2 shadow-pop"
        >
          {tail.waiting} new {tail.waiting === 1 ? "request" : "requests"}
        </Button>
      )}
      <Table
        label="Requests"
        columns={requestColumns(({ id }) => fresh.has(id))}
        rows={rows}
        keyOf={({ id }) => id}
        linkOf={({ id }) => at(`requests/${encodeURIComponent(id)}`)}
        query={log}
        empty={<Nothing isLive={isLive} />}
      />
    </div>
  );
}

function Nothing({ isLive }: { readonly isLive: boolean }) {
  const { at } = useWorkspace();
  const { get, set } = useSearchParams();
  const names = [...FILTERS, ...PERIOD];
  if (names.some((name) => get(name) !== ""))
    return (
      <EmptyState icon="filter" title="No request fits these filters" hint="Take one away, or look at a longer period.">
        <Button onClick={() => set(Object.fromEntries(names.map((name) => [name, null])))}>Clear all filters</Button>
      </EmptyState>
    );
  return (
    <EmptyState
      icon="list"
      title={isLive ? "Waiting for the first request" : "No requests yet"}
      hint="Connect a client or try a model: the call appears here as soon as it ends."
    >
      <LinkButton to={at("connect")} icon="plug" look="primary">
        Connect a client
      </LinkButton>
      <LinkButton to={at("playground")} icon="play">
        Open the playground
      </LinkButton>
    </EmptyState>
  );
}
