import { useMemo } from "react";
import { useWorkspace } from "../../address.ts";
import type { ApiResponse, Args } from "../../api/client.ts";
import { useManage } from "../../api/hooks.ts";
import { usePermissions } from "../../api/powers.ts";
import { csvText, downloadCsv } from "../../format/csv.ts";
import { moneyText } from "../../format/money.ts";
import { compactText, percentText } from "../../format/number.ts";
import { DAY_MS, durationText } from "../../format/time.ts";
import { Button } from "../../ui/button.tsx";
import { CallButton } from "../../ui/call-button.tsx";
import { Chart } from "../../ui/chart.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Card, PageHeader, Stack, Stat } from "../../ui/layout.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { Segments } from "../../ui/tabs.tsx";
import { Money, Num } from "../../ui/values.tsx";
import { pickedText, type UsageQuery, useUsageQuery } from "./asked.ts";
import {
  addUp,
  type Figures,
  figureOf,
  isAverage,
  METRICS,
  type Metric,
  perDayText,
  seriesOf,
  type Total,
  totalsOf,
} from "./figures.ts";
import { Filters } from "./filters.tsx";
import { stepsOf, stepText } from "./period.ts";
import { TotalsTable } from "./totals-table.tsx";

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
    ? "What was used and spent, from roll-ups that outlive the log. Days are days of UTC."
    : "What your own keys used and spent. Days are days of UTC.";
  return (
    <>
      <PageHeader
        title="Usage"
        about={about}
        actions={
          <>
            <CallButton calls={[{ id: "manageShowUsage", args, says: "What this chart shows" }]} />
            <Button
              icon="download"
              disabled={usage.data === undefined || usage.data.data.length === 0}
              onClick={() => usage.data !== undefined && saveReport(workspace, usage.data)}
            >
              CSV
            </Button>
          </>
        }
      />
      <Filters query={query} set={set} />
      {usage.error !== null && usage.data === undefined ? (
        <Card>
          <ErrorState error={usage.error} onRetry={() => void usage.refetch()} />
        </Card>
      ) : usage.data === undefined ? (
        <Ghost />
      ) : (
        <Shown query={query} report={usage.data} set={set} at={at} />
      )}
    </>
  );
}

function Ghost() {
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

type ShownProps = {
  readonly query: UsageQuery;
  readonly report: Report;
  readonly set: (change: Record<string, string | null>) => void;
  readonly at: (path: string) => string;
};

function Shown({ query, report, set, at }: ShownProps) {
  const { metric, group, picked } = query;
  const { currency, data } = report;
  // Of the answer and not of the address: while a new one is on its way, the chart stays whole.
  const totals = useMemo(() => totalsOf(data, report.group ?? "", metric), [data, report.group, metric]);
  const sums = useMemo(() => addUp(data), [data]);
  if (data.length === 0) return <Nothing query={query} set={set} at={at} />;
  const onPick = (next: readonly string[]) => set({ pick: pickedText(next) });
  const requestsOf = (total: Total) =>
    group === "" || total.id === "" ? undefined : at(`requests?${new URLSearchParams({ [group]: total.id })}`);
  return (
    <Stack>
      <Sums sums={sums} currency={currency} days={(Date.parse(report.to) - Date.parse(report.from)) / DAY_MS} />
      <Card
        title={METRICS.find(({ id }) => id === metric)?.label}
        actions={
          <>
            {picked.length > 0 && (
              <Button size="small" look="quiet" icon="close" onClick={() => onPick([])}>
                Show all
              </Button>
            )}
            {!isAverage(metric) && (
              <Segments
                label="Drawn as"
                options={DRAWN}
                value={query.draw}
                onChange={(draw) => set({ draw: draw === "stack" ? null : draw })}
              />
            )}
          </>
        }
      >
        <Drawing query={query} report={report} totals={totals} />
      </Card>
      <TotalsTable
        query={query}
        totals={totals}
        whole={isAverage(metric) ? null : figureOf(sums, metric)}
        currency={currency}
        isPending={false}
        onPick={onPick}
        requestsOf={requestsOf}
      />
    </Stack>
  );
}

const DRAWN = [
  { value: "stack", label: "Stacked" },
  { value: "lines", label: "Lines" },
] as const;

type DrawingProps = { readonly query: UsageQuery; readonly report: Report; readonly totals: readonly Total[] };

function Drawing({ query, report, totals }: DrawingProps) {
  const { metric, picked, draw } = query;
  const fromMs = Date.parse(report.from);
  const toMs = Date.parse(report.to);
  const steps = stepsOf({ by: report.by, fromMs, toMs });
  const series = seriesOf(report.data, { steps, totals, picked, metric });
  const format = sayOf(metric, report.currency);
  return (
    <Chart
      label={`${METRICS.find(({ id }) => id === metric)?.label ?? ""} by ${report.by}`}
      kind={draw === "lines" || isAverage(metric) ? "line" : steps.length > BARS_MAX ? "area" : "bars"}
      x={steps}
      series={series}
      format={format}
      formatX={stepText(report.by, toMs - fromMs <= DAY_MS)}
      height={280}
    />
  );
}

function sayOf(metric: Metric, currency: string): (value: number) => string {
  if (metric === "cost") return (value) => moneyText(String(value), currency);
  return isAverage(metric) ? durationText : compactText;
}

/** More bars than this are thinner than the gaps between them. */
const BARS_MAX = 62;

/** From here on a figure is short, with the exact one in reach. */
const EXACT_BELOW = 1_000_000;

type SumsProps = { readonly sums: Figures; readonly currency: string; readonly days: number };

function Sums({ sums, currency, days }: SumsProps) {
  const { requests, errors } = sums;
  return (
    <div className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
      <Stat
        label="Spend"
        value={<Money amount={sums.cost} currency={currency} />}
        note={requests === 0 ? "no requests" : `${moneyText(String(Number(sums.cost) / requests), currency)} a request`}
      />
      <Stat
        label="Requests"
        value={<Num value={requests} compact={requests >= EXACT_BELOW} />}
        note={perDayText(requests, days)}
      />
      <Stat
        label="Errors"
        value={<Num value={errors} compact />}
        note={requests === 0 ? "no requests" : `${percentText(errors / requests)} of requests`}
        {...(errors === 0 ? {} : { tone: "warn" as const })}
      />
      <Stat
        label="Tokens in"
        value={<Num value={sums.input_tokens} compact />}
        note={`${compactText(sums.cached_tokens)} cached`}
      />
      <Stat
        label="Tokens out"
        value={<Num value={sums.output_tokens} compact />}
        note={`${compactText(sums.reasoning_tokens)} reasoning`}
      />
      <Stat
        label="Mean latency"
        value={timeText(figureOf(sums, "latency"))}
        note={`first byte ${timeText(figureOf(sums, "first_byte"))}`}
      />
    </div>
  );
}

const timeText = (ms: number | null) => (ms === null ? "–" : durationText(ms));

function Nothing({ query, set, at }: Pick<ShownProps, "query" | "set" | "at">) {
  const isLive = query.environment === "live";
  return (
    <Card>
      <EmptyState
        icon="chart"
        title="Nothing was used in this time"
        hint={
          isLive
            ? "Only live keys are counted here. Look at test keys as well, choose a longer time, or send a first request."
            : "Choose a longer time, or send a first request."
        }
      >
        {isLive && <Button onClick={() => set({ env: "all" })}>Count test keys too</Button>}
        <LinkButton to={at("connect")} look="primary">
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

/** The rows as they were answered, with the currency: nothing is rounded. */
function saveReport(workspace: string, { data, currency, by, from }: Report): void {
  const rows = data.map((row) => [...COLUMNS.map((name) => row[name]), currency]);
  downloadCsv(`${workspace}-usage-by-${by}-${from.slice(0, 10)}.csv`, csvText([...COLUMNS, "currency"], rows));
}
