import type { z } from "zod";
import { invalidValue } from "../../../contract/faults.ts";
import {
  type UsageDistributions,
  type UsageReport,
  UsageReportQuery,
  type UsageRowView,
} from "../../../contract/schemas/manage-log.ts";
import {
  REQUEST_SKETCHES,
  type UsageGroup,
  type UsageRow,
  type UsageSketchRow,
} from "../../../domain/record/usage-sums.ts";
import type { Directory } from "../../../domain/tenancy/directory.ts";
import { formatNanos } from "../../../kit/money.ts";
import { mergeSketch, type QuantileSketch, sketchCount, sketchQuantiles } from "../../../kit/quantile-sketch.ts";
import { DAY_MS, HOUR_MS } from "../../../kit/time.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { readQuery } from "../../request-input.ts";
import { findWorkspace, type ManageContext } from "../deps.ts";
import { parseTime } from "../tenancy/key-settings.ts";
import { isoTime } from "../views.ts";
import { parseShapeFilter, restrictToCaller } from "./log-filter.ts";

const STEPS = {
  hour: { stepMs: HOUR_MS, defaultSteps: 24, maxSteps: 31 * 24, maxLabel: "31 days" },
  day: { stepMs: DAY_MS, defaultSteps: 30, maxSteps: 400, maxLabel: "400 days" },
} as const;

const ROWS_MAX = 10_000;

export function usageHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageShowUsage: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const query = readQuery(exchange, UsageReportQuery);
      const { fromMs, toMs, stepMs } = parsePeriod(query, context.clock.nowMs());
      const group = query.group ?? null;
      const filter = {
        ...restrictToCaller(parseShapeFilter(query, workspace, context.directory), exchange),
        ...(query.env === "all" ? {} : { environment: query.env }),
      };
      await context.waitForIngest();
      const usageQuery = { fromMs, toMs, stepMs, group, filter };
      const rows = await context.store.rollups.usage(workspace.id, usageQuery, ROWS_MAX + 1);
      if (rows.length > ROWS_MAX)
        throw invalidValue(
          "from",
          `must select at most ${ROWS_MAX} rows: choose a shorter period, use days, or filter`,
        );
      const sketches = await context.store.rollups.usageSketches(workspace.id, usageQuery);
      const distributions = new Map(sketches.map((row) => [rowKey(row), distributionsView([row])]));
      const report: z.infer<typeof UsageReport> = {
        from: isoTime(fromMs),
        to: isoTime(toMs),
        by: query.by,
        group,
        environment: query.env,
        currency: workspace.currency,
        data: rows.map((row) => ({
          ...rowView(row, group, context.directory),
          ...(distributions.get(rowKey(row)) ?? NO_DISTRIBUTIONS),
        })),
        total: distributionsView(sketches),
        groups: group === null ? [] : groupViews(sketches, group, context.directory),
        next: null,
      };
      return { status: 200, json: report };
    }),
  };
}

/** Aligned to whole steps, so that no bucket is partial. */
function parsePeriod({ by, from, to }: z.infer<typeof UsageReportQuery>, nowMs: number) {
  const { stepMs, defaultSteps, maxSteps, maxLabel } = STEPS[by];
  const toMs = Math.ceil((parseTime("to", to ?? null) ?? nowMs) / HOUR_MS) * HOUR_MS;
  const requestedMs = parseTime("from", from ?? null) ?? toMs - defaultSteps * stepMs;
  const fromMs = Math.floor(requestedMs / stepMs) * stepMs;
  if (fromMs > toMs) throw invalidValue("from", "must be before the end");
  if (toMs - fromMs > (maxSteps + 1) * stepMs)
    throw invalidValue("from", `must be at most ${maxLabel} before the end when grouped by ${by}`);
  return { fromMs, toMs, stepMs };
}

type UsageDistributionsView = z.infer<typeof UsageDistributions>;

const NO_DISTRIBUTIONS: UsageDistributionsView = { latency_ms: null, ttfb_ms: null, tokens_per_second: null };

const rowKey = ({ startMs, name }: Pick<UsageRow, "startMs" | "name">) => `${startMs} ${name}`;

/** The percentiles of all rows together. */
function distributionsView(rows: readonly UsageSketchRow[]): UsageDistributionsView {
  const [latencyMs, firstByteMs, tokensPerSecond] = REQUEST_SKETCHES.map((_, at) => {
    const merged: QuantileSketch = new Map();
    for (const { sketches } of rows) mergeSketch(merged, sketches[at] ?? new Map());
    return percentilesView(merged);
  });
  return {
    latency_ms: latencyMs ?? null,
    ttfb_ms: firstByteMs ?? null,
    tokens_per_second: tokensPerSecond ?? null,
  };
}

/** More digits would suggest a precision that the sketch does not have. */
const SIGNIFICANT_DIGITS = 3;

function percentilesView(sketch: QuantileSketch): UsageDistributionsView["latency_ms"] {
  const values = sketchQuantiles(sketch, [0.5, 0.95, 0.99])?.map((value) =>
    Number(value.toPrecision(SIGNIFICANT_DIGITS)),
  );
  if (values === undefined) return null;
  const [p50 = 0, p95 = 0, p99 = 0] = values;
  return { requests: sketchCount(sketch), p50, p95, p99 };
}

function groupViews(rows: readonly UsageSketchRow[], group: UsageGroup, directory: Directory) {
  const byName = Map.groupBy(rows, ({ name }) => name);
  return [...byName]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, own]) => ({ ...groupView(name, group, directory), ...distributionsView(own) }));
}

function groupView(name: string, group: UsageGroup | null, directory: Directory) {
  return { name: name === "" ? null : name, label: labelOf(name, group, directory) };
}

type UsageSumsView = Omit<z.infer<typeof UsageRowView>, keyof UsageDistributionsView>;

function rowView(row: UsageRow, group: UsageGroup | null, directory: Directory): UsageSumsView {
  return {
    start: isoTime(row.startMs),
    ...groupView(row.name, group, directory),
    requests: row.requests,
    errors: row.errors,
    input_tokens: row.inputTokens,
    cached_tokens: row.cachedTokens,
    cache_write_tokens: row.cacheWriteTokens,
    output_tokens: row.outputTokens,
    reasoning_tokens: row.reasoningTokens,
    characters: row.characters,
    seconds: row.audioMs / 1000,
    cost: formatNanos(row.costNanos),
    timed_requests: row.timedRequests,
    total_ms: row.totalMs,
    streamed_requests: row.streamedRequests,
    first_byte_ms: row.firstByteMs,
  };
}

function labelOf(name: string, group: UsageGroup | null, directory: Directory): string | null {
  if (group === "key") return keyLabel(name, directory);
  if (group === "member") return directory.member(name)?.email ?? null;
  return null;
}

/** Playground keys share one name: the member tells them apart. */
function keyLabel(id: string, directory: Directory): string | null {
  const key = directory.key(id);
  if (key?.purpose !== "playground" || key.memberId === null) return key?.name ?? null;
  const email = directory.member(key.memberId)?.email;
  return email === undefined ? key.name : `${key.name} (${email})`;
}
