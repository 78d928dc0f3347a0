import { fault } from "../../../contract/faults.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import { type Handler, whole } from "../../exchange.ts";
import { short } from "../../printable.ts";
import { readQuery } from "../../request-input.ts";
import { commitWithAudit, findWorkspace, type ManageContext } from "../deps.ts";
import { responseView } from "../views.ts";

/** Stored responses: that they are there, never what is in them. */
export function responseHandlers(room: ManageContext): Record<string, Handler> {
  return {
    manageListResponses: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const { rows, next } = await room.responses.list(workspace.id, limit, cursor ?? null);
      const { usedBytes, maxBytes } = room.responses.usage(workspace.id);
      return {
        status: 200,
        json: {
          data: rows.map(responseView),
          next,
          used_bytes: usedBytes,
          max_bytes: maxBytes,
          retention: room.responseRetention,
        },
      };
    }),
    manageDeleteResponse: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const id = exchange.params["id"] ?? "";
      await room.responses.stop(workspace.id, id);
      await commitWithAudit(room, async ({ responses }) => {
        if (await responses.remove(workspace.id, id, room.clock.nowMs()))
          return { answer: null, audit: { action: "response.delete", workspaceId: workspace.id, target: id } };
        throw fault("not_found", {
          message: `The workspace ${workspace.slug} has no stored response with the id "${short(id)}".`,
        });
      });
      return { status: 200, json: { id, deleted: true } };
    }),
    managePurgeResponses: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      await room.responses.stopAll(workspace.id);
      const deleted = await commitWithAudit(room, async ({ responses }) => {
        const count = await responses.purge(workspace.id);
        const audit = { action: "response.purge", workspaceId: workspace.id, target: null, detail: { deleted: count } };
        return { answer: count, audit };
      });
      return { status: 200, json: { workspace: workspace.slug, deleted } };
    }),
  };
}
