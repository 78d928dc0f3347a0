import { invalidValue } from "../../../contract/faults.ts";
import { MarginPut } from "../../../contract/schemas/manage-rates.ts";
import { MARGIN_FORMAT_HINT, parseMargin } from "../../../domain/billing/margin.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { readBody } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext } from "../deps.ts";

/** The operator's margin on provider prices, per workspace. */
export function marginHandlers(context: ManageContext): Record<string, Handler> {
  const view = ({ id, slug }: Workspace) => {
    const { margins } = context.planning;
    return {
      workspace: slug,
      margin: margins.marginFor(id).share,
      own: margins.overrideFor(id)?.share ?? null,
      usual: margins.defaultMargin.share,
    };
  };
  return {
    manageShowMargin: buffered(async (exchange) => ({
      status: 200,
      json: view(findWorkspace(context, exchange.params["workspace"])),
    })),
    managePutMargin: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const { margin: input } = await readBody(exchange, MarginPut);
      const margin = input === null ? null : parseMargin(input);
      if (margin === undefined) throw invalidValue("margin", MARGIN_FORMAT_HINT);
      return scope.serialized(async () => {
        const workspace = findWorkspace(scope, id);
        const { margins } = scope.planning;
        const before = margins.overrideFor(id)?.share ?? null;
        await commitWithAudit(scope, async (writers) => {
          await writers.margins.save(id, margin?.share ?? null);
          const detail = { before, after: margin?.share ?? null, usual: margins.defaultMargin.share };
          return { answer: null, audit: { action: "margin.change", workspaceId: id, target: id, detail } };
        });
        margins.set(id, margin);
        return { status: 200, json: view(workspace) };
      });
    }),
  };
}
