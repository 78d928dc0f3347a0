import { request } from "../../schemas/manage-examples.ts";
import { ExportQuery, UsageReport, UsageReportQuery } from "../../schemas/manage-log.ts";
import { managed, managedExport } from "../managed.ts";

const distributions = {
  latency_ms: { requests: 40, p50: 1180, p95: 2410, p99: 3900 },
  ttfb_ms: { requests: 22, p50: 262, p95: 540, p99: 610 },
  tokens_per_second: { requests: 40, p50: 46.1, p95: 71.3, p99: 75.2 },
};

const WORKSPACE = "/manage/workspaces/{workspace}";

const exportRoute = managedExport({
  id: "manageExportRequests",
  path: `${WORKSPACE}/requests/export`,
  allows: "member",
  tag: "Request log",
  summary: "Export requests",
  description:
    "Newest first, streamed as CSV (RFC 4180, with a header row) or as JSON lines, with the fields of the list. In CSV, text that a spreadsheet would run as a formula starts with an apostrophe. If the export fails midway, the connection is closed before the end of the body.",
  query: ExportQuery,
  contentType: "application/x-ndjson",
  or: "text/csv",
  example: { answer: `${JSON.stringify(request)}\n` },
});

export const LOG_ROUTES = [
  exportRoute,
  managed({
    id: "manageShowUsage",
    method: "GET",
    path: `${WORKSPACE}/usage`,
    allows: "member",
    tag: "Request log",
    summary: "Show usage by hour or day",
    description:
      "Read from roll-ups, which outlive the request log. Test traffic is excluded by default. `to` is rounded up to a full hour.",
    query: UsageReportQuery,
    answer: UsageReport,
    example: {
      answer: {
        from: "2026-11-14T00:00:00.000Z",
        to: "2026-11-15T00:00:00.000Z",
        by: "day",
        group: "model",
        environment: "live",
        currency: "EUR",
        data: [
          {
            start: "2026-11-14T00:00:00.000Z",
            name: "sandbox/chat",
            label: null,
            requests: 41,
            errors: 1,
            input_tokens: 5120,
            cached_tokens: 0,
            cache_write_tokens: 0,
            output_tokens: 2210,
            reasoning_tokens: 0,
            characters: 0,
            seconds: 0,
            cost: "0.0125",
            timed_requests: 40,
            total_ms: 51_200,
            streamed_requests: 22,
            first_byte_ms: 6_160,
            ...distributions,
          },
        ],
        total: distributions,
        groups: [{ name: "sandbox/chat", label: null, ...distributions }],
        next: null,
      },
    },
  }),
];
