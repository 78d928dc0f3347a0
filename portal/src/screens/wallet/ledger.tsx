import { type Args, urlOf } from "../../api/client.ts";
import { usePages } from "../../api/hooks.ts";
import { Badge } from "../../ui/badge.tsx";
import { buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Toolbar } from "../../ui/layout.tsx";
import { Link } from "../../ui/link.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Money, Time } from "../../ui/values.tsx";
import { useSearchParams, useWorkspace } from "../../url-state.ts";
import { type Entry, KIND_NAMES, KINDS } from "./entry-kinds.ts";

const PAGE_ROWS = 50;

type Filter = { readonly kind: string; readonly since: string; readonly until: string };

/** The start or end of a day in the reader's time zone. */
function dayBoundary(day: string, isEnd: boolean): string | undefined {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? new Date(`${day}T00:00:00`) : undefined;
  if (at === undefined || Number.isNaN(at.getTime())) return undefined;
  if (isEnd) at.setDate(at.getDate() + 1);
  return at.toISOString();
}

export function ledgerArgs(workspace: string, { kind, since, until }: Filter) {
  const [from, to] = [dayBoundary(since, false), dayBoundary(until, true)];
  const query = {
    ...(kind === "" ? {} : { kind }),
    ...(from === undefined ? {} : { since: from }),
    ...(to === undefined ? {} : { until: to }),
  };
  return { params: { workspace }, query };
}

export function useLedgerFilter(): Filter {
  const search = useSearchParams();
  return { kind: search.get("kind"), since: search.get("since"), until: search.get("until") };
}

export function Ledger() {
  const { workspace } = useWorkspace();
  const filter = useLedgerFilter();
  const filterArgs = ledgerArgs(workspace, filter);
  const args: Args<"manageListWalletEntries"> = { ...filterArgs, query: { ...filterArgs.query, limit: PAGE_ROWS } };
  const entries = usePages("manageListWalletEntries", args, { keepPrevious: true });
  const isFiltered = filter.kind !== "" || filter.since !== "" || filter.until !== "";
  return (
    <>
      <LedgerFilters filter={filter} exportOf={(format) => exportUrl(filterArgs, format)} />
      <Table
        label="Ledger"
        columns={COLUMNS}
        rows={entries.rows}
        keyOf={({ id }) => id}
        query={entries}
        empty={
          isFiltered ? (
            <EmptyState icon="filter" title="No entries match" hint="Choose another type or a longer period." />
          ) : (
            <EmptyState
              icon="wallet"
              title="No entries yet"
              hint="Top-ups, charges and other transactions are listed here."
            />
          )
        }
      />
    </>
  );
}

function exportUrl(filterArgs: ReturnType<typeof ledgerArgs>, format: string): string {
  return urlOf("manageExportWalletEntries", { ...filterArgs, query: { ...filterArgs.query, format } });
}

type FiltersProps = { readonly filter: Filter; readonly exportOf: (format: string) => string };

function LedgerFilters({ filter, exportOf }: FiltersProps) {
  const { set } = useSearchParams();
  return (
    <Toolbar>
      <Field label="Type" className="w-44">
        <Select
          value={filter.kind}
          onChange={(event) => set({ kind: event.target.value })}
          options={[
            { value: "", label: "All types" },
            { value: "topup,promotion,refund,adjustment", label: "Credits and adjustments" },
            ...KIND_NAMES.map((kind) => ({ value: kind, label: KINDS[kind].label })),
          ]}
        />
      </Field>
      <Field label="From" className="w-38">
        <Input type="date" value={filter.since} onChange={(event) => set({ since: event.target.value })} />
      </Field>
      <Field label="To" className="w-38">
        <Input type="date" value={filter.until} onChange={(event) => set({ until: event.target.value })} />
      </Field>
      <div className="ml-auto flex gap-2">
        {(["csv", "jsonl"] as const).map((format) => (
          <a key={format} href={exportOf(format)} download className={buttonClass()}>
            <Icon name="download" />
            {format === "csv" ? "CSV" : "JSON Lines"}
          </a>
        ))}
      </div>
    </Toolbar>
  );
}

const COLUMNS: readonly Column<Entry>[] = [
  {
    id: "when",
    header: "Time",
    sortValue: ({ created_at }) => created_at,
    cell: (entry) => <Time at={entry.created_at} as="short" />,
  },
  {
    id: "kind",
    header: "Type",
    sortValue: ({ kind }) => KINDS[kind].label,
    cell: ({ kind }) => (
      <Badge tone={KINDS[kind].tone} title={KINDS[kind].description}>
        {KINDS[kind].label}
      </Badge>
    ),
  },
  { id: "what", header: "Description", cell: (entry) => <EntryDescription entry={entry} />, className: "max-w-80" },
  {
    id: "amount",
    header: "Amount",
    sortValue: ({ amount }) => Number(amount),
    align: "end",
    cell: (entry) => <EntryAmount entry={entry} />,
  },
  {
    id: "balance",
    header: "Balance after",
    align: "end",
    cell: (entry) => <Money amount={entry.balance_after} currency={entry.currency} as="balance" />,
  },
];

/** A request's charge is mostly below one cent. */
function EntryAmount({ entry: { amount, currency, request } }: { readonly entry: Entry }) {
  return <Money amount={amount} currency={currency} as={request === null ? "amount" : "price"} signed />;
}

/** The note and request of an entry, otherwise its ID. */
function EntryDescription({ entry }: { readonly entry: Entry }) {
  const { at } = useWorkspace();
  const { request, note, id } = entry;
  return (
    <span className="grid min-w-0 justify-items-start max-md:justify-items-end">
      {note !== null && <span className="max-w-full break-words">{note}</span>}
      {request !== null && (
        <Link
          to={at(`requests/${encodeURIComponent(request)}`)}
          title={request}
          className="max-w-full truncate font-mono text-xs"
        >
          {request}
        </Link>
      )}
      {note === null && request === null && (
        <span className="max-w-full truncate font-mono text-xs text-soft" title={id}>
          {id}
        </span>
      )}
    </span>
  );
}
