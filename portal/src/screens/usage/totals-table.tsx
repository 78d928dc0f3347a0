import { useSearchParam } from "../../address.ts";
import { percentText } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { Link } from "../../ui/link.tsx";
import { type Column, sortOf, sortRows, sortText, Table } from "../../ui/table.tsx";
import { Money, Num, Unknown } from "../../ui/values.tsx";
import type { UsageQuery } from "./asked.ts";
import { figureOf, type Metric, type Total } from "./figures.ts";

type Props = {
  readonly query: UsageQuery;
  readonly totals: readonly Total[];
  /** Of which shares are shown; null: averages have none. */
  readonly whole: number | null;
  readonly currency: string;
  readonly isPending: boolean;
  readonly onPick: (picked: readonly string[]) => void;
  /** Where the requests of one of them are listed; undefined: nowhere. */
  readonly requestsOf: (total: Total) => string | undefined;
};

/** What each came to. The boxes say which are compared on the chart. */
export function TotalsTable(props: Props) {
  const { query, totals, isPending } = props;
  const [sorted, setSorted] = useSearchParam("sort", `-${query.metric}`);
  const sort = sortOf(sorted);
  const rows = sortRows(totals, sort, (row, by) =>
    by === "label" ? row.label : by === "share" ? figureOf(row, query.metric) : figureOf(row, metricOf(by)),
  );
  return (
    <Table
      label="Totals"
      columns={columnsOf(props)}
      rows={rows}
      keyOf={({ id }) => id}
      query={{ isPending }}
      sort={sort}
      onSort={(next) => setSorted(sortText(next))}
      empty={null}
    />
  );
}

const SORTED: readonly Metric[] = [
  "cost",
  "requests",
  "errors",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "latency",
  "first_byte",
];
const metricOf = (by: string): Metric => SORTED.find((one) => one === by) ?? "cost";

function columnsOf({ query, whole, currency, onPick, requestsOf }: Props): Column<Total>[] {
  const timed = (id: "latency" | "first_byte", header: string): Column<Total> => ({
    id,
    header,
    align: "end",
    sortable: true,
    phone: "hide",
    cell: (row) => <Duration ms={figureOf(row, id)} />,
  });
  const counted = (
    id: Exclude<Metric, "cost" | "latency" | "first_byte">,
    header: string,
    phone?: "hide",
  ): Column<Total> => ({
    id,
    header,
    align: "end",
    sortable: true,
    phone,
    cell: (row) => <Num value={row[id]} compact />,
  });
  return [
    { id: "label", header: "Name", sortable: true, cell: (row) => <Name {...{ row, query, onPick, requestsOf }} /> },
    {
      id: "cost",
      header: "Spend",
      align: "end",
      sortable: true,
      cell: (row) => <Money amount={row.cost} currency={currency} />,
    },
    {
      id: "share",
      header: "Share",
      align: "end",
      sortable: true,
      cell: (row) => (
        <span className="figures">
          {whole === null || whole === 0 ? "–" : percentText((figureOf(row, query.metric) ?? 0) / whole)}
        </span>
      ),
    },
    counted("requests", "Requests"),
    counted("errors", "Errors"),
    counted("input_tokens", "In"),
    counted("output_tokens", "Out"),
    counted("cached_tokens", "Cached", "hide"),
    counted("reasoning_tokens", "Reasoning", "hide"),
    timed("latency", "Latency"),
    timed("first_byte", "First byte"),
  ];
}

function Duration({ ms }: { readonly ms: number | null }) {
  return ms === null ? <Unknown /> : <span className="figures whitespace-nowrap">{durationText(ms)}</span>;
}

type NameProps = Pick<Props, "query" | "onPick" | "requestsOf"> & { readonly row: Total };

function Name({ row, query, onPick, requestsOf }: NameProps) {
  const { picked, group } = query;
  const isPicked = picked.includes(row.id);
  const to = requestsOf(row);
  return (
    <span className="flex min-w-0 items-center gap-2.5">
      {group !== "" && (
        <input
          type="checkbox"
          checked={isPicked}
          aria-label={`Compare ${row.label}`}
          onChange={() => onPick(isPicked ? picked.filter((one) => one !== row.id) : [...picked, row.id])}
          className="size-6 shrink-0 scale-75"
        />
      )}
      <span className="min-w-0 truncate font-medium md:max-w-60" title={row.label}>
        {row.label}
      </span>
      {to !== undefined && (
        <Link to={to} className="text-xs" aria-label={`Requests of ${row.label}`}>
          requests
        </Link>
      )}
    </span>
  );
}
