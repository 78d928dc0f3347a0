import { useMemo } from "react";
import { useManage, usePages } from "../../api/hooks.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHeader, Toolbar } from "../../ui/layout.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { useDebounced } from "../../ui/use-debounced.ts";
import { Time } from "../../ui/values.tsx";
import { stringifySearch, useSearchParams, useWorkspace } from "../../url-state.ts";
import { type Entry, type Filters, iconOf, KINDS, queryOf, targetNameOf } from "./entry.ts";
import { EntryDetail } from "./entry-detail.tsx";
import { ExportButton } from "./export.tsx";

const PAGE = 50;

const columnsWith = (names: ReadonlyMap<string, string>): readonly Column<Entry>[] => [
  {
    id: "action",
    header: "Action",
    sortValue: ({ action }) => action,
    phone: "title",
    cell: ({ action }) => (
      <span className="inline-flex items-center gap-2 align-middle">
        <Icon name={iconOf(action)} className="text-soft" />
        <code className="font-mono text-xs">{action}</code>
      </span>
    ),
  },
  {
    id: "target",
    header: "Target",
    className: "md:max-w-72",
    cell: (entry) => (
      <span className="block truncate" title={entry.target ?? undefined}>
        {targetNameOf(entry, names) ?? "–"}
      </span>
    ),
  },
  {
    id: "actor",
    header: "Actor",
    sortValue: ({ actor }) => actor,
    className: "md:min-w-40",
    cell: ({ actor }) => <span className="break-all">{actor}</span>,
  },
  { id: "at", header: "Time", sortValue: ({ at }) => at, align: "end", cell: ({ at }) => <Time at={at} as="short" /> },
];

/** Audit entries refer to keys by ID; the table shows names. */
function useKeyNames(workspace: string): ReadonlyMap<string, string> {
  const keys = useManage("manageListKeys", { params: { workspace }, query: { limit: 1000 } }).data?.data;
  return useMemo(() => new Map(keys?.map(({ id, name }) => [id, name])), [keys]);
}

export function Screen() {
  const { workspace, at } = useWorkspace();
  const search = useSearchParams();
  const filters: Filters = {
    action: search.get("action"),
    actor: search.get("actor"),
    target: search.get("target"),
    from: search.get("from"),
    to: search.get("to"),
  };
  const query = useDebounced(queryOf(workspace, filters));
  const entries = usePages("manageListAudit", { query: { ...query, limit: PAGE } }, { keepPrevious: true });
  const columns = columnsWith(useKeyNames(workspace));
  const chosen = entries.rows.find(({ id }) => id === search.get("entry"));
  const clear = () => search.set({ action: null, actor: null, target: null, from: null, to: null });
  const isFiltered = Object.values(filters).some((value) => value !== "");
  return (
    <>
      <PageHeader
        title="Audit log"
        about="Every management action with actor, target and time. Contains no secrets and no request content."
        actions={
          <>
            <ApiButton calls={[{ id: "manageListAudit", args: { query }, description: "List these entries" }]} />
            <ExportButton workspace={workspace} query={query} />
          </>
        }
      />
      <FilterBar filters={filters} search={search} isFiltered={isFiltered} clear={clear} />
      <Table<Entry>
        label="Audit log"
        columns={columns}
        rows={entries.rows}
        keyOf={({ id }) => id}
        linkOf={({ id }) => `${at("audit")}${stringifySearch({ ...search.all, entry: id })}`}
        query={entries}
        empty={
          isFiltered ? (
            <EmptyState icon="search" title="No entries match" hint="Choose a longer period or remove a filter.">
              <Button onClick={clear}>Clear filters</Button>
            </EmptyState>
          ) : (
            <EmptyState icon="scroll" title="No entries yet" hint="Changes to this workspace are recorded here." />
          )
        }
      />
      {chosen !== undefined && <EntryDetail entry={chosen} at={at} onClose={() => search.set({ entry: null })} />}
    </>
  );
}

type BarProps = {
  readonly filters: Filters;
  readonly search: ReturnType<typeof useSearchParams>;
  readonly isFiltered: boolean;
  readonly clear: () => void;
};

function FilterBar({ filters, search, isFiltered, clear }: BarProps) {
  const kinds = KINDS.map(({ id, label }) => ({ value: id, label }));
  const isOneAction = filters.action.includes(".");
  return (
    <Toolbar>
      <Field label="Type" className="w-full sm:w-44">
        <Select
          value={filters.action}
          onChange={(event) => search.set({ action: event.target.value })}
          options={[
            { value: "", label: "All types" },
            ...(isOneAction ? [{ value: filters.action, label: filters.action }] : []),
            ...kinds,
          ]}
        />
      </Field>
      <Field label="Actor" className="w-full sm:w-52">
        <Input
          placeholder="ada@example.eu, operator"
          value={filters.actor}
          onChange={(event) => search.set({ actor: event.target.value })}
        />
      </Field>
      <Field label="Target" className="w-full sm:w-52">
        <Input
          placeholder="ID, for example key_…"
          value={filters.target}
          onChange={(event) => search.set({ target: event.target.value })}
        />
      </Field>
      <Field label="From" className="min-w-36 flex-1 sm:flex-none">
        <Input type="date" value={filters.from} onChange={(event) => search.set({ from: event.target.value })} />
      </Field>
      <Field label="To" className="min-w-36 flex-1 sm:flex-none">
        <Input type="date" value={filters.to} onChange={(event) => search.set({ to: event.target.value })} />
      </Field>
      {isFiltered && (
        <Button variant="quiet" icon="close" onClick={clear}>
          Clear filters
        </Button>
      )}
    </Toolbar>
  );
}
