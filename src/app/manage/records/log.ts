import { type Fault, fault } from "../../../contract/faults.ts";
import { RequestQuery, RequestShowQuery } from "../../../contract/schemas/manage-log.ts";
import { type Handler, whole } from "../../exchange.ts";
import { short } from "../../printable.ts";
import { readQuery } from "../../request-input.ts";
import { findWorkspace, type ManageContext } from "../deps.ts";
import { requestView } from "../views.ts";
import { capturedOf } from "./captures.ts";
import { exportHandlers } from "./log-export.ts";
import { parseLogFilter, restrictToCaller } from "./log-filter.ts";
import { requestDetailView } from "./request-detail.ts";
import { usageHandlers } from "./usage.ts";

export function requestNotFound(id: string): Fault {
  return fault("not_found", { message: `The log has no request with the id "${short(id)}".` });
}

export function logHandlers(room: ManageContext): Record<string, Handler> {
  return {
    ...exportHandlers(room),
    ...usageHandlers(room),
    manageListRequests: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const query = readQuery(exchange, RequestQuery);
      const filter = restrictToCaller(parseLogFilter(query, workspace, room.directory), exchange);
      await room.awaitIngest();
      const { rows, next } = await room.store.log.list(workspace.id, filter, query.limit, query.cursor ?? null);
      return { status: 200, json: { data: rows.map((row) => requestView(row, room.directory)), next } };
    }),
    manageShowRequest: whole(async (exchange) => {
      const id = exchange.params["id"] ?? "";
      await room.awaitIngest();
      const record = await room.store.log.find(id);
      if (record === undefined) throw requestNotFound(id);
      const { content } = readQuery(exchange, RequestShowQuery);
      const detail = await requestDetailView(room, record);
      return { status: 200, json: { ...detail, ...(await capturedOf(room, record.workspaceId, id, content)) } };
    }),
  };
}
