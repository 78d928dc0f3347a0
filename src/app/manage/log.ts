import type { z } from "zod";
import { fault } from "../../contract/faults.ts";
import { RequestQuery } from "../../contract/schemas/manage-records.ts";
import type { LogFilter } from "../../domain/record/record.ts";
import { readQuery } from "../body.ts";
import { type Handler, whole } from "../exchange.ts";
import { capturedOf } from "./captures.ts";
import { findWorkspace, type Room, short } from "./deps.ts";
import { timeOf } from "./key-settings.ts";
import { requestDetail, requestView } from "./views.ts";

function filterOf(query: z.infer<typeof RequestQuery>): LogFilter {
  const sinceMs = timeOf("since", query.since ?? null);
  const untilMs = timeOf("until", query.until ?? null);
  return {
    ...(query.key === undefined ? {} : { keyId: query.key }),
    ...(query.model === undefined ? {} : { model: query.model }),
    ...(query.provider === undefined ? {} : { provider: query.provider }),
    ...(query.app === undefined ? {} : { app: query.app }),
    ...(query.env === undefined ? {} : { environment: query.env }),
    ...(query.status === undefined ? {} : { status: query.status }),
    ...(sinceMs === null ? {} : { sinceMs }),
    ...(untilMs === null ? {} : { untilMs }),
  };
}

export function logHandlers(room: Room): Record<string, Handler> {
  return {
    manageListRequests: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const query = readQuery(exchange, RequestQuery);
      const filter = filterOf(query);
      await room.caughtUp();
      const { rows, next } = await room.store.log.list(workspace.id, filter, query.limit, query.cursor ?? null);
      return { status: 200, json: { data: rows.map((row) => requestView(row, room.directory)), next } };
    }),
    manageShowRequest: whole(async (exchange) => {
      const id = exchange.params["id"] ?? "";
      await room.caughtUp();
      const record = await room.store.log.find(id);
      if (record === undefined)
        throw fault("not_found", { message: `The log has no request with the id "${short(id)}".` });
      const captured = await capturedOf(room, record.workspaceId, id);
      const detail = requestDetail(record, room.directory);
      return { status: 200, json: captured === undefined ? detail : { ...detail, captured } };
    }),
  };
}
