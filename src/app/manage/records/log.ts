import { type Fault, fault } from "../../../contract/faults.ts";
import { RequestQuery, RequestShowQuery } from "../../../contract/schemas/manage-log.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { findWorkspace, type ManageContext } from "../deps.ts";
import { requestView } from "../views.ts";
import { capturedOf } from "./captures.ts";
import { exportHandlers } from "./log-export.ts";
import { parseLogFilter, restrictToCaller } from "./log-filter.ts";
import { requestDetailView } from "./request-detail.ts";
import { usageHandlers } from "./usage.ts";

export function requestNotFound(id: string): Fault {
  return fault("not_found", { message: `The log has no request with the id "${printable(id)}".` });
}

export function logHandlers(context: ManageContext): Record<string, Handler> {
  return {
    ...exportHandlers(context),
    ...usageHandlers(context),
    manageListRequests: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const query = readQuery(exchange, RequestQuery);
      const filter = restrictToCaller(parseLogFilter(query, workspace, context.directory), exchange);
      await context.waitForIngest();
      const { rows, next } = await context.store.log.list(workspace.id, filter, query.limit, query.cursor ?? null);
      return { status: 200, json: { data: rows.map((row) => requestView(row, context.directory)), next } };
    }),
    manageShowRequest: mutation(context, async (exchange, scope) => {
      const id = exchange.params["id"] ?? "";
      await scope.waitForIngest();
      const record = await scope.store.log.find(id);
      if (record === undefined) throw requestNotFound(id);
      const { content } = readQuery(exchange, RequestShowQuery);
      const detail = await requestDetailView(scope, record);
      return { status: 200, json: { ...detail, ...(await capturedOf(scope, record.workspaceId, id, content)) } };
    }),
  };
}
