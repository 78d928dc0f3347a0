import { invalidValue } from "../../../contract/faults.ts";
import { DataClassReportQuery } from "../../../contract/schemas/manage-data-classes.ts";
import { EvidenceQuery } from "../../../contract/schemas/manage-evidence.ts";
import { dataClassUsage } from "../../../domain/record/data-class-usage.ts";
import { DAY_MS } from "../../../kit/time.ts";
import { buffered, type Handler, type HttpResponse } from "../../exchange.ts";
import { readQuery } from "../../request-input.ts";
import { findWorkspace, type ManageContext } from "../deps.ts";
import { parseTime } from "../tenancy/key-settings.ts";
import { isoTime } from "../views.ts";
import { evidencePage } from "./evidence-page.ts";
import { buildEvidenceReport, type EvidencePeriod } from "./evidence-report.ts";

const PERIOD_DEFAULT_MS = 30 * DAY_MS;
const PERIOD_MAX_MS = 366 * DAY_MS;

function periodOf(from: string | undefined, to: string | undefined, nowMs: number): EvidencePeriod {
  const toMs = parseTime("to", to ?? null) ?? nowMs;
  const fromMs = parseTime("from", from ?? null) ?? toMs - PERIOD_DEFAULT_MS;
  if (fromMs >= toMs) throw invalidValue("from", "must be a time before `to`");
  if (toMs - fromMs > PERIOD_MAX_MS) throw invalidValue("from", "must be a period of at most 366 days");
  return { fromMs, toMs };
}

/** The page has inline styles and loads nothing. */
const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
};

export function evidenceHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageShowEvidence: buffered(async (exchange): Promise<HttpResponse> => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { from, to, format } = readQuery(exchange, EvidenceQuery);
      const period = periodOf(from, to, context.clock.nowMs());
      await context.waitForIngest();
      const report = await buildEvidenceReport(context, workspace, period);
      if (format === "html") return { status: 200, headers: PAGE_HEADERS, bytes: evidencePage(report) };
      return { status: 200, json: report };
    }),
    manageReportDataClasses: buffered(async (exchange): Promise<HttpResponse> => {
      const { id } = findWorkspace(context, exchange.params["workspace"]);
      const { from, to } = readQuery(exchange, DataClassReportQuery);
      const { fromMs, toMs } = periodOf(from, to, context.clock.nowMs());
      await context.waitForIngest();
      const data = dataClassUsage(await context.store.evidence.dataClasses(id, fromMs, toMs));
      return { status: 200, json: { from: isoTime(fromMs), to: isoTime(toMs), data, next: null } };
    }),
  };
}
