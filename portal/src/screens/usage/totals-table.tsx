import { percentText } from "../../format/number.ts";
import { durationText } from "../../format/time.ts";
import { Link } from "../../ui/link.tsx";
import { type Column, Table, useSortParam } from "../../ui/table.tsx";
import { Money, Num, Unknown } from "../../ui/values.tsx";
import type { UsageQuery } from "./usage-query.ts";
import { cacheShare, type Distributions, metricValue, type Total } from "./usage-sums.ts";

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
  return (
    <Table
      label="Totals"
      columns={columnsOf(props)}
      rows={totals}
      keyOf={({ id }) => id}
      query={{ isPending }}
      {...useSortParam(`-${query.metric}`)}
      empty={null}
    />
  );
}

type CountMetric = "requests" | "errors" | "input_tokens" | "output_tokens" | "reasoning_tokens";

function columnsOf({ query, total, currency, onSelect, requestsOf }: Props): Column<Total>[] {
  const durations = (
    id: "latency_p95" | "ttfb_p95",
    header: string,
    field: "latency_ms" | "ttfb_ms",
  ): Column<Total> => ({
    id,
    header: `${header} p50 / p95 / p99`,
    align: "end",
    sortValue: (row) => metricValue(row, id),
    phone: "hide",
    cell: (row) => <Percentiles of={row[field]} />,
  });
  const counted = (id: CountMetric, header: string, phone?: "hide"): Column<Total> => ({
    id,
    header,
    align: "end",
    sortValue: (row) => metricValue(row, id),
    phone,
    cell: (row) => <Num value={row[id]} compact />,
  });
  return [
    {
      id: "label",
      header: "Name",
      sortValue: ({ label }) => label,
      cell: (row) => <Name {...{ row, query, onSelect, requestsOf }} />,
    },
    {
      id: "cost",
      header: "Spend",
      align: "end",
      sortValue: ({ cost }) => Number(cost),
      cell: (row) => <Money amount={row.cost} currency={currency} />,
    },
    {
      id: "share",
      header: "Share",
      align: "end",
      sortValue: (row) => metricValue(row, query.metric),
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
    {
      id: "cache_share",
      header: "Cached",
      align: "end",
      sortValue: cacheShare,
      phone: "hide",
      cell: (row) => <Share value={cacheShare(row)} />,
    },
    counted("reasoning_tokens", "Reasoning", "hide"),
    durations("latency_p95", "Latency", "latency_ms"),
    durations("ttfb_p95", "TTFB", "ttfb_ms"),
    {
      id: "speed_p50",
      header: "Tokens/s",
      align: "end",
      sortValue: (row) => metricValue(row, "speed_p50"),
      phone: "hide",
      cell: (row) => (row.tokens_per_second === null ? <Unknown /> : <Num value={row.tokens_per_second.p50} />),
    },
  ];
}

function Share({ value }: { readonly value: number | null }) {
  return value === null ? <Unknown /> : <span className="figures">{percentText(value)}</span>;
}

function Percentiles({ of }: { readonly of: Distributions["latency_ms"] }) {
  if (of === null) return <Unknown />;
  return (
    <span className="figures whitespace-nowrap">
      {durationText(of.p50)} <span className="text-soft">/</span> {durationText(of.p95)}{" "}
      <span className="text-soft">/</span> {durationText(of.p99)}
    </span>
  );
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
      <span className="grid min-w-0 justify-items-start">
        <span className="max-w-full truncate font-medium md:max-w-60 md:min-w-28" title={row.label}>
          {row.label}
        </span>
        {to !== undefined && (
          <Link to={to} className="text-xs whitespace-nowrap" aria-label={`View requests of ${row.label}`}>
            View requests
          </Link>
        )}
      </span>
    </span>
  );
}
