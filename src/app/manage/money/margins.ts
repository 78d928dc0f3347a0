import { invalidValue } from "../../../contract/faults.ts";
import { MarginPut } from "../../../contract/schemas/manage-rates.ts";
import { MARGIN_FORMAT_HINT, parseMargin } from "../../../domain/billing/margin.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { type Handler, whole } from "../../exchange.ts";
import { readBody } from "../../request-input.ts";
import { commitWithAudit, findWorkspace, type ManageContext } from "../deps.ts";

/** What the operator adds to providers' prices for one workspace. */
export function marginHandlers(room: ManageContext): Record<string, Handler> {
  const view = ({ id, slug }: Workspace) => {
    const { margins } = room.planning;
    return {
      workspace: slug,
      margin: margins.marginFor(id).share,
      own: margins.overrideFor(id)?.share ?? null,
      usual: margins.defaultMargin.share,
    };
  };
  return {
    manageShowMargin: whole(async (exchange) => ({
      status: 200,
      json: view(findWorkspace(room, exchange.params["workspace"])),
    })),
    managePutMargin: whole(async (exchange) => {
      const { id } = findWorkspace(room, exchange.params["workspace"]);
      const { margin: said } = await readBody(exchange, MarginPut);
      const margin = said === null ? null : parseMargin(said);
      if (margin === undefined) throw invalidValue("margin", MARGIN_FORMAT_HINT);
      return room.inTurn(async () => {
        const workspace = findWorkspace(room, id);
        const { margins } = room.planning;
        const before = margins.overrideFor(id)?.share ?? null;
        await commitWithAudit(room, async (writers) => {
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
