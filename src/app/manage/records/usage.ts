import type { z } from "zod";
import { invalidValue } from "../../../contract/faults.ts";
import { type UsageReport, UsageReportQuery, type UsageRowView } from "../../../contract/schemas/manage-log.ts";
import type { UsageGroup, UsageRow } from "../../../domain/record/usage-sums.ts";
import type { Directory } from "../../../domain/tenancy/directory.ts";
import { formatNanos } from "../../../kit/money.ts";
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
        throw invalidValue("from", `these are more than ${ROWS_MAX} rows: ask for less time, or for days, or filter`);
      const report: z.infer<typeof UsageReport> = {
        from: isoTime(fromMs),
        to: isoTime(toMs),
        by: query.by,
        group,
        environment: query.env,
        currency: workspace.currency,
        data: rows.map((row) => rowView(row, group, context.directory)),
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
  if (fromMs > toMs) throw invalidValue("from", "it is after the end");
  if (toMs - fromMs > (maxSteps + 1) * stepMs)
    throw invalidValue("from", `by ${by} at most ${maxLabel} are shown at once`);
  return { fromMs, toMs, stepMs };
}

function rowView(row: UsageRow, group: UsageGroup | null, directory: Directory): z.infer<typeof UsageRowView> {
  return {
    start: isoTime(row.startMs),
    name: row.name === "" ? null : row.name,
    label: labelOf(row.name, group, directory),
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
  if (group === "key") return directory.key(name)?.name ?? null;
  if (group === "member") return directory.member(name)?.email ?? null;
  return null;
}
