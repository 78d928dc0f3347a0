import { useMemo } from "react";
import type { ApiResponse, Args } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { usePermissions } from "../../api/permissions.ts";
import { csvText, downloadCsv } from "../../format/csv.ts";
import { moneyText } from "../../format/money.ts";
import { compactText, numberText, percentText } from "../../format/number.ts";
import { DAY_MS, durationText } from "../../format/time.ts";
import { ApiButton } from "../../ui/api-button.tsx";
import { Button } from "../../ui/button.tsx";
import { Chart } from "../../ui/chart.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, PageHeader, Stack, Stat } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { SegmentedControl } from "../../ui/tabs.tsx";
import { Money, Num } from "../../ui/values.tsx";
import { useWorkspace } from "../../url-state.ts";
import { stepsOf, stepText } from "./period.ts";
import { TotalsTable } from "./totals-table.tsx";
import { UsageFilters } from "./usage-filters.tsx";
import { selectedText, type UsageQuery, useUsageQuery } from "./usage-query.ts";
import {
  cacheShare,
  type Distributions,
  isAdditive,
  METRICS,
  type Metric,
  metricValue,
  perDayText,
  seriesOf,
  sumUsage,
  type Total,
  totalsOf,
  type UsageSums,
  unitOf,
} from "./usage-sums.ts";

type Report = ApiResponse<"manageShowUsage">;

function argsOf(workspace: string, { period, group, environment }: UsageQuery): Args<"manageShowUsage"> {
  return {
    params: { workspace },
    query: {
      by: period.by,
      from: new Date(period.fromMs).toISOString(),
      to: new Date(period.toMs).toISOString(),
      env: environment,
      ...(group === "" ? {} : { group }),
    },
  };
}

export function Screen() {
  const { workspace, at } = useWorkspace();
  const { query, set } = useUsageQuery();
  const { isAdmin } = usePermissions(workspace);
  const args = argsOf(workspace, query);
  const usage = useManage("manageShowUsage", args, { keepPrevious: true });
  const about = isAdmin
    ? "Usage and spend of this workspace. Days are in UTC."
    : "Usage and spend of your keys. Days are in UTC.";
  return (
    <>
      <PageHeader
        title="Usage"
        about={about}
        actions={
          <>
            <ApiButton calls={[{ id: "manageShowUsage", args, description: "Show usage" }]} />
            <Button
              icon="download"
              disabled={usage.data === undefined || usage.data.data.length === 0}
              onClick={() => usage.data !== undefined && exportReport(workspace, usage.data)}
            >
              Export CSV
            </Button>
          </>
        }
      />
      <UsageFilters query={query} set={set} />
      {usage.error !== null && usage.data === undefined ? (
        <Card>
          <ErrorState error={usage.error} onRetry={() => void usage.refetch()} />
        </Card>
      ) : usage.data === undefined ? (
        <LoadingPlaceholder />
      ) : (
        <UsageReport query={query} report={usage.data} set={set} at={at} />
      )}
    </>
  );
}

function LoadingPlaceholder() {
  return (
    <Stack>
      <span className="sr-only" role="status">
        Loading
      </span>
      <Skeleton className="h-20 w-full" />
      <Skeleton className="h-72 w-full" />
    </Stack>
  );
}

type UsageReportProps = {
  readonly query: UsageQuery;
  readonly report: Report;
  readonly set: (change: Record<string, string | null>) => void;
  readonly at: (path: string) => string;
};

function UsageReport({ query, report, set, at }: UsageReportProps) {
  const { metric, group, selected } = query;
  const { currency, data } = report;
  // From the response, not from the URL: the chart stays consistent while a new response loads.
  const totals = useMemo(() => totalsOf(report, metric), [report, metric]);
  const sums = useMemo(() => sumUsage(data), [data]);
  if (data.length === 0) return <NoUsage query={query} set={set} at={at} />;
  const onSelect = (next: readonly string[]) => set({ pick: selectedText(next) });
  const requestsOf = (row: Total) =>
    !REQUEST_FILTERS.has(group) || row.id === ""
      ? undefined
      : at(`requests?${new URLSearchParams({ [group]: row.id })}`);
  return (
    <Stack>
      <UsageStats
        sums={sums}
        distributions={report.total}
        currency={currency}
        days={(Date.parse(report.to) - Date.parse(report.from)) / DAY_MS}
        traffic={report.environment}
      />
      <Card
        title={METRICS.find(({ id }) => id === metric)?.label}
        actions={
          <>
            {selected.length > 0 && (
              <Button size="small" variant="quiet" icon="close" onClick={() => onSelect([])}>
                Show all
              </Button>
            )}
            {isAdditive(metric) && (
              <SegmentedControl
                label="Chart type"
                options={CHART_TYPES}
                value={query.chartKind}
                onChange={(chartKind) => set({ draw: chartKind === "stack" ? null : chartKind })}
              />
            )}
          </>
        }
      >
        <UsageChart query={query} report={report} totals={totals} />
      </Card>
      <TotalsTable
        query={query}
        totals={totals}
        total={isAdditive(metric) ? metricValue({ ...sums, ...report.total }, metric) : null}
        currency={currency}
        isPending={false}
        onSelect={onSelect}
        requestsOf={requestsOf}
      />
    </Stack>
  );
}

const CHART_TYPES = [
  { value: "stack", label: "Stacked" },
  { value: "lines", label: "Lines" },
] as const;

type UsageChartProps = { readonly query: UsageQuery; readonly report: Report; readonly totals: readonly Total[] };

function UsageChart({ query, report, totals }: UsageChartProps) {
  const { metric, selected, chartKind } = query;
  const fromMs = Date.parse(report.from);
  const toMs = Date.parse(report.to);
  const steps = stepsOf({ by: report.by, fromMs, toMs });
  const series = seriesOf(report.data, { steps, totals, selected, metric });
  const format = formatterFor(metric, report.currency);
  return (
    <Chart
      label={`${METRICS.find(({ id }) => id === metric)?.label ?? ""} by ${report.by}`}
      kind={chartKind === "lines" || !isAdditive(metric) ? "line" : steps.length > BARS_MAX ? "area" : "bars"}
      x={steps}
      series={series}
      format={format}
      formatX={stepText(report.by, toMs - fromMs <= DAY_MS)}
      height={280}
    />
  );
}

function formatterFor(metric: Metric, currency: string): (value: number) => string {
  switch (unitOf(metric)) {
    case "money":
      return (value) => moneyText(String(value), currency, "price");
    case "share":
      return percentText;
    case "duration":
      return durationText;
    case "rate":
    case "count":
      return compactText;
  }
}

/** More bars would be thinner than their gaps. */
const BARS_MAX = 62;

/** Larger numbers are abbreviated. */
const ABBREVIATE_FROM = 1_000_000;

type UsageStatsProps = {
  readonly sums: UsageSums;
  readonly distributions: Distributions;
  readonly currency: string;
  readonly days: number;
  readonly traffic: Report["environment"];
};

const TRAFFIC_LABELS = { all: "live and test", live: "live", test: "test" } as const;

function UsageStats({ sums, distributions, currency, days, traffic }: UsageStatsProps) {
  const { requests, errors } = sums;
  const { latency_ms, ttfb_ms, tokens_per_second } = distributions;
  const share = cacheShare(sums);
  return (
    <div className="grid grid-cols-2 gap-3 md:grid-cols-4">
      <Stat
        label="Spend"
        value={<Money amount={sums.cost} currency={currency} />}
        note={
          requests === 0
            ? "No requests"
            : `${moneyText(String(Number(sums.cost) / requests), currency, "price")} per request`
        }
      />
      <Stat
        label="Requests"
        value={<Num value={requests} compact={requests >= ABBREVIATE_FROM} />}
        note={`${perDayText(requests, days)}, ${TRAFFIC_LABELS[traffic]}`}
      />
      <Stat
        label="Errors"
        value={<Num value={errors} compact />}
        note={requests === 0 ? "No requests" : `${percentText(errors / requests)} of requests`}
        {...(errors === 0 ? {} : { tone: "warn" as const })}
      />
      <Stat
        label="Input tokens"
        value={<Num value={sums.input_tokens} compact />}
        note={share === null ? "None cached" : `${percentText(share)} cached`}
      />
      <Stat
        label="Output tokens"
        value={<Num value={sums.output_tokens} compact />}
        note={`${compactText(sums.reasoning_tokens)} reasoning`}
      />
      <Stat label="Latency p50" value={timeText(latency_ms?.p50)} note={tailText(latency_ms)} />
      <Stat label="TTFB p50" value={timeText(ttfb_ms?.p50)} note={tailText(ttfb_ms)} />
      <Stat
        label="Tokens/s p50"
        value={tokens_per_second === null ? "–" : numberText(tokens_per_second.p50)}
        note={coverageText(latency_ms?.requests ?? 0, requests - errors)}
      />
    </div>
  );
}

const timeText = (ms: number | undefined) => (ms === undefined ? "–" : durationText(ms));

const tailText = (percentiles: Distributions["latency_ms"]) =>
  percentiles === null ? "No data" : `p95 ${durationText(percentiles.p95)} · p99 ${durationText(percentiles.p99)}`;

/** Requests from before the upgrade that introduced percentiles have none. */
const coverageText = (covered: number, successful: number) =>
  covered >= successful ? "All successful requests" : `${compactText(covered)} of ${compactText(successful)} requests`;

/** Groups that the request list can be filtered by. */
const REQUEST_FILTERS: ReadonlySet<string> = new Set(["key", "member", "model", "provider", "app"]);

function NoUsage({ query, set, at }: Pick<UsageReportProps, "query" | "set" | "at">) {
  const isLive = query.environment === "live";
  return (
    <Card>
      <EmptyState
        icon="chart"
        title="No usage in this period"
        hint={
          isLive
            ? "Only live keys are included. Include test keys, choose a longer period or send a request."
            : "Choose a longer period or send a request."
        }
      >
        {isLive && <Button onClick={() => set({ env: null })}>Include test keys</Button>}
        <LinkButton to={at("connect")} variant="primary">
          Send a request
        </LinkButton>
      </EmptyState>
    </Card>
  );
}

const COLUMNS = [
  "start",
  "name",
  "label",
  "requests",
  "errors",
  "input_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "characters",
  "seconds",
  "cost",
  "timed_requests",
  "total_ms",
  "streamed_requests",
  "first_byte_ms",
] as const;

const DISTRIBUTION_COLUMNS = ["latency_ms", "ttfb_ms", "tokens_per_second"].flatMap((name) =>
  ["p50", "p95", "p99"].map((percentile) => `${name}_${percentile}`),
);

/** Exports unrounded values. */
function exportReport(workspace: string, { data, currency, by, from }: Report): void {
  const rows = data.map((row) => [
    ...COLUMNS.map((name) => row[name]),
    cacheShare(row),
    ...[row.latency_ms, row.ttfb_ms, row.tokens_per_second].flatMap((one) => [
      one?.p50 ?? null,
      one?.p95 ?? null,
      one?.p99 ?? null,
    ]),
    row.latency_ms?.requests ?? 0,
    currency,
  ]);
  const header = [...COLUMNS, "cache_share", ...DISTRIBUTION_COLUMNS, "percentile_requests", "currency"];
  downloadCsv(`${workspace}-usage-by-${by}-${from.slice(0, 10)}.csv`, csvText(header, rows));
}
