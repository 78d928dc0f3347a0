import { useSearchParams, useWorkspace } from "../../address.ts";
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
import { type Entry, KIND_NAMES, KINDS } from "./kinds.ts";

const PAGE_ROWS = 50;

type Filter = { readonly kind: string; readonly since: string; readonly until: string };

/** A day of the reader's own zone, from its first moment or to its last. */
function momentOf(day: string, isEnd: boolean): string | undefined {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? new Date(`${day}T00:00:00`) : undefined;
  if (at === undefined || Number.isNaN(at.getTime())) return undefined;
  if (isEnd) at.setDate(at.getDate() + 1);
  return at.toISOString();
}

export function ledgerArgs(workspace: string, { kind, since, until }: Filter) {
  const [from, to] = [momentOf(since, false), momentOf(until, true)];
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

/** Every movement of the wallet, newest first, with what was in it afterwards. */
export function Ledger() {
  const { workspace } = useWorkspace();
  const filter = useLedgerFilter();
  const asked = ledgerArgs(workspace, filter);
  const args: Args<"manageListWalletEntries"> = { ...asked, query: { ...asked.query, limit: PAGE_ROWS } };
  const entries = usePages("manageListWalletEntries", args, { keepPrevious: true });
  const isFiltered = filter.kind !== "" || filter.since !== "" || filter.until !== "";
  return (
    <>
      <LedgerFilters filter={filter} exportOf={(format) => exportAddress(asked, format)} />
      <Table
        label="Ledger"
        columns={COLUMNS}
        rows={entries.rows}
        keyOf={({ id }) => id}
        query={entries}
        empty={
          isFiltered ? (
            <EmptyState
              icon="filter"
              title="No entry fits these filters"
              hint="Choose another kind or a longer time."
            />
          ) : (
            <EmptyState
              icon="wallet"
              title="Nothing has moved money yet"
              hint="Top-ups, charges of requests and everything else that moves money will be listed here."
            />
          )
        }
      />
    </>
  );
}

function exportAddress(asked: ReturnType<typeof ledgerArgs>, format: string): string {
  return urlOf("manageExportWalletEntries", { ...asked, query: { ...asked.query, format } });
}

type FiltersProps = { readonly filter: Filter; readonly exportOf: (format: string) => string };

function LedgerFilters({ filter, exportOf }: FiltersProps) {
  const { set } = useSearchParams();
  return (
    <Toolbar>
      <Field label="Kind" className="w-44">
        <Select
          value={filter.kind}
          onChange={(event) => set({ kind: event.target.value })}
          options={[
            { value: "", label: "Everything" },
            { value: "topup,promotion,refund,adjustment", label: "Money in and corrections" },
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
            {format === "csv" ? "CSV" : "JSON lines"}
          </a>
        ))}
      </div>
    </Toolbar>
  );
}

const COLUMNS: readonly Column<Entry>[] = [
  { id: "when", header: "When", cell: (entry) => <Time at={entry.created_at} as="short" /> },
  {
    id: "kind",
    header: "Kind",
    cell: ({ kind }) => (
      <Badge tone={KINDS[kind].tone} title={KINDS[kind].says}>
        {KINDS[kind].label}
      </Badge>
    ),
  },
  { id: "what", header: "What for", cell: (entry) => <Reason entry={entry} />, className: "max-w-80" },
  {
    id: "amount",
    header: "Amount",
    align: "end",
    cell: (entry) => <Money amount={entry.amount} currency={entry.currency} as="exact" signed />,
  },
  {
    id: "balance",
    header: "Balance after",
    align: "end",
    cell: (entry) => <Money amount={entry.balance_after} currency={entry.currency} as="exact" />,
  },
];

/** The request it belongs to, what was noted, or else its id. */
function Reason({ entry }: { readonly entry: Entry }) {
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
