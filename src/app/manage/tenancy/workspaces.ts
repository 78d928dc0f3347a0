import { fault } from "../../../contract/faults.ts";
import { WorkspaceCreate } from "../../../contract/schemas/manage-tenancy.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import { OPEN_POLICY } from "../../../domain/tenancy/policy.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { invalidValue, readBody, readQuery } from "../../body.ts";
import { type Handler, whole } from "../../exchange.ts";
import { change, findWorkspace, type Room, type TenancyDeps } from "../deps.ts";
import { pageOf } from "../page.ts";
import { workspaceView } from "../views.ts";

export type NewWorkspace = { readonly slug: string; readonly name: string; readonly currency: string };

export async function createWorkspace(deps: TenancyDeps, said: NewWorkspace): Promise<Workspace> {
  if (!deps.snapshot().currencies.has(said.currency))
    throw invalidValue(
      "currency",
      `the catalogue has no currency ${said.currency}; GET /v1/public/currencies lists them`,
    );
  if (deps.directory.workspace(said.slug) !== undefined)
    throw fault("conflict", {
      message: `A workspace with the slug "${said.slug}" exists already: choose another slug.`,
      param: "slug",
    });
  const workspace: Workspace = {
    id: deps.ids.next("ws_"),
    slug: said.slug,
    name: said.name,
    currency: said.currency,
    createdAtMs: deps.clock.nowMs(),
    policy: OPEN_POLICY,
    keyPolicy: { personalKeys: false, approval: false },
  };
  await change(deps, async ({ tenancy }) => {
    await tenancy.saveWorkspace(workspace);
    const { id: workspaceId, createdAtMs, policy } = workspace;
    await tenancy.keepPolicy({ workspaceId, keyId: null, createdAtMs, policy });
    const detail = { slug: said.slug, name: said.name, currency: said.currency };
    const audit = { action: "workspace.create", workspaceId: workspace.id, target: workspace.id, detail };
    return { answer: null, audit };
  });
  deps.directory.putWorkspace(workspace);
  return workspace;
}

export function workspaceHandlers(room: Room): Record<string, Handler> {
  return {
    manageListWorkspaces: whole(async (exchange) => {
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const { rows, next } = pageOf(room.directory.workspaces(), limit, cursor);
      return { status: 200, json: { data: rows.map(workspaceView), next } };
    }),
    manageCreateWorkspace: whole(async (exchange) => {
      const { slug, name, currency } = await readBody(exchange, WorkspaceCreate);
      const workspace = await room.inTurn(() =>
        createWorkspace(room, { slug, name: name ?? slug, currency: currency ?? "EUR" }),
      );
      return { status: 201, json: workspaceView(workspace) };
    }),
    manageShowWorkspace: whole(async (exchange) => ({
      status: 200,
      json: workspaceView(findWorkspace(room, exchange.params["workspace"])),
    })),
  };
}
