import { fault } from "../../../contract/faults.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext } from "../deps.ts";
import { responseView } from "../views.ts";

/** Metadata of stored responses, never their content. */
export function responseHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageListResponses: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const { rows, next } = await context.responses.list(workspace.id, limit, cursor ?? null);
      const { usedBytes, maxBytes } = context.responses.usage(workspace.id);
      return {
        status: 200,
        json: {
          data: rows.map(responseView),
          next,
          used_bytes: usedBytes,
          max_bytes: maxBytes,
          retention: context.responseRetention,
        },
      };
    }),
    manageDeleteResponse: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const id = exchange.params["id"] ?? "";
      await scope.responses.stop(workspace.id, id);
      await commitWithAudit(scope, async ({ responses }) => {
        if (await responses.remove(workspace.id, id, scope.clock.nowMs()))
          return { answer: null, audit: { action: "response.delete", workspaceId: workspace.id, target: id } };
        throw fault("not_found", {
          message: `Workspace ${workspace.slug} has no stored response with the id "${printable(id)}".`,
        });
      });
      return { status: 200, json: { id, deleted: true } };
    }),
    managePurgeResponses: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      await scope.responses.stopAll(workspace.id);
      const deleted = await commitWithAudit(scope, async ({ responses }) => {
        const count = await responses.purge(workspace.id);
        const audit = { action: "response.purge", workspaceId: workspace.id, target: null, detail: { deleted: count } };
        return { answer: count, audit };
      });
      return { status: 200, json: { workspace: workspace.slug, deleted } };
    }),
  };
}
