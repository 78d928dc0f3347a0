import { percentText } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { Link } from "../../ui/link.tsx";
import { type Column, sortOf, sortRows, sortText, Table } from "../../ui/table.tsx";
import { Money, Num, Unknown } from "../../ui/values.tsx";
import { useSearchParam } from "../../url-state.ts";
import type { UsageQuery } from "./usage-query.ts";
import { type Metric, metricValue, type Total } from "./usage-sums.ts";

type Props = {
  readonly query: UsageQuery;
  readonly totals: readonly Total[];
  /** The total for shares; null: averages have none. */
  readonly total: number | null;
  readonly currency: string;
  readonly isPending: boolean;
  readonly onSelect: (selected: readonly string[]) => void;
  /** The link to a group's requests. */
  readonly requestsOf: (total: Total) => string | undefined;
};

/** Totals per group; checkboxes select the groups in the chart. */
export function TotalsTable(props: Props) {
  const { query, totals, isPending } = props;
  const [sortParam, setSortParam] = useSearchParam("sort", `-${query.metric}`);
  const sort = sortOf(sortParam);
  const rows = sortRows(totals, sort, (row, by) =>
    by === "label" ? row.label : by === "share" ? metricValue(row, query.metric) : metricValue(row, metricOf(by)),
  );
  return (
    <Table
      label="Totals"
      columns={columnsOf(props)}
      rows={rows}
      keyOf={({ id }) => id}
      query={{ isPending }}
      sort={sort}
      onSort={(next) => setSortParam(sortText(next))}
      empty={null}
    />
  );
}

const SORTABLE_METRICS: readonly Metric[] = [
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
const metricOf = (by: string): Metric => SORTABLE_METRICS.find((one) => one === by) ?? "cost";

function columnsOf({ query, total, currency, onSelect, requestsOf }: Props): Column<Total>[] {
  const timed = (id: "latency" | "first_byte", header: string): Column<Total> => ({
    id,
    header,
    align: "end",
    sortable: true,
    phone: "hide",
    cell: (row) => <Duration ms={metricValue(row, id)} />,
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
    { id: "label", header: "Name", sortable: true, cell: (row) => <Name {...{ row, query, onSelect, requestsOf }} /> },
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
          {total === null || total === 0 ? "–" : percentText((metricValue(row, query.metric) ?? 0) / total)}
        </span>
      ),
    },
    counted("requests", "Requests"),
    counted("errors", "Errors"),
    counted("input_tokens", "Input"),
    counted("output_tokens", "Output"),
    counted("cached_tokens", "Cached", "hide"),
    counted("reasoning_tokens", "Reasoning", "hide"),
    timed("latency", "Latency"),
    timed("first_byte", "TTFB"),
  ];
}

function Duration({ ms }: { readonly ms: number | null }) {
  return ms === null ? <Unknown /> : <span className="figures whitespace-nowrap">{durationText(ms)}</span>;
}

type NameProps = Pick<Props, "query" | "onSelect" | "requestsOf"> & { readonly row: Total };

function Name({ row, query, onSelect, requestsOf }: NameProps) {
  const { selected, group } = query;
  const isSelected = selected.includes(row.id);
  const to = requestsOf(row);
  return (
    <span className="flex min-w-0 items-center gap-2.5">
      {group !== "" && (
        <input
          type="checkbox"
          checked={isSelected}
          aria-label={`Compare ${row.label}`}
          onChange={() => onSelect(isSelected ? selected.filter((one) => one !== row.id) : [...selected, row.id])}
          className="size-6 shrink-0 scale-75"
        />
      )}
      <span className="min-w-0 truncate font-medium md:max-w-60" title={row.label}>
        {row.label}
      </span>
      {to !== undefined && (
        <Link to={to} className="text-xs" aria-label={`View requests of ${row.label}`}>
          View requests
        </Link>
      )}
    </span>
  );
}
