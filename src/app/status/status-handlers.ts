import { fault } from "../../contract/faults.ts";
import { buffered, type Handler, type HttpResponse } from "../exchange.ts";
import { statusPage } from "./status-page.ts";
import type { StatusReport } from "./status-report.ts";

const CACHE = { "cache-control": "public, max-age=60" };

/** The public status as a page and as JSON; undefined when it is switched off. */
export function statusHandlers(report: StatusReport | undefined, fonts: string): Record<string, Handler> {
  const respond = (build: (report: StatusReport) => Promise<HttpResponse>) =>
    buffered(async () => {
      if (report === undefined) throw fault("not_found", { message: "The status page is disabled." });
      return build(report);
    });
  return {
    getPublicStatus: respond(async (source) => ({ status: 200, headers: CACHE, json: await source.read() })),
    getStatusPage: respond(async (source) => {
      const { html, contentSecurityPolicy } = statusPage(await source.read(), fonts);
      return {
        status: 200,
        headers: {
          ...CACHE,
          "content-type": "text/html; charset=utf-8",
          "content-security-policy": contentSecurityPolicy,
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
        },
        bytes: html,
      };
    }),
  };
}
