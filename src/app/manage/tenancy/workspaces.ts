import { fault, invalidValue } from "../../../contract/faults.ts";
import { WorkspaceCreate, WorkspacePatch } from "../../../contract/schemas/manage-tenancy.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import type { AuditStore } from "../../../domain/record/audit.ts";
import { isOperatorActor } from "../../../domain/tenancy/actor.ts";
import { OPEN_POLICY } from "../../../domain/tenancy/policy.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { buffered, type Exchange, type Handler } from "../../exchange.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { commitWithAudit, findWorkspace, type ManageContext, type TenancyScope } from "../deps.ts";
import { membershipOf } from "../membership.ts";
import { paginate } from "../page.ts";
import { workspaceView } from "../views.ts";
import { newMember } from "./members.ts";

const CREATE_ACTION = "workspace.create";

export type NewWorkspace = { readonly slug: string; readonly name: string; readonly currency: string };

/** The owner is added in the same transaction, so that a creator is never locked out. */
export async function createWorkspace(deps: TenancyScope, input: NewWorkspace, email?: string): Promise<Workspace> {
  if (!deps.snapshot().currencies.has(input.currency))
    throw invalidValue(
      "currency",
      `must be a currency of the catalogue, which has no ${input.currency} (gateway rates list)`,
    );
  if (deps.directory.workspace(input.slug) !== undefined)
    throw fault("conflict", {
      message: `There is already a workspace with the slug "${input.slug}". Choose another slug.`,
      param: "slug",
    });
  const workspace: Workspace = {
    id: deps.ids.next("ws_"),
    slug: input.slug,
    name: input.name,
    currency: input.currency,
    createdAtMs: deps.clock.nowMs(),
    policy: OPEN_POLICY,
    keyPolicy: { personalKeys: false, approval: false, ipAllowlist: null },
  };
  const owner = email === undefined ? undefined : newMember(deps, workspace, email, "owner");
  await commitWithAudit(deps, async ({ tenancy }) => {
    await tenancy.saveWorkspace(workspace);
    const { id: workspaceId, createdAtMs, policy } = workspace;
    await tenancy.savePolicyVersion({ workspaceId, keyId: null, createdAtMs, policy });
    if (owner !== undefined) await tenancy.saveMember(owner);
    const { slug, name, currency } = input;
    const detail = { slug, name, currency, ...(owner === undefined ? {} : { owner: owner.email }) };
    const audit = { action: CREATE_ACTION, workspaceId: workspace.id, target: workspace.id, detail };
    return { answer: null, audit };
  });
  deps.directory.putWorkspace(workspace);
  if (owner !== undefined) deps.directory.putMember(owner);
  return workspace;
}

async function renameWorkspace(deps: TenancyScope, workspace: Workspace, name: string): Promise<Workspace> {
  if (workspace.name === name) return workspace;
  const renamed: Workspace = { ...workspace, name };
  await commitWithAudit(deps, async ({ tenancy }) => {
    await tenancy.saveWorkspace(renamed);
    const { id } = workspace;
    const detail = { before: workspace.name, after: name };
    return { answer: null, audit: { action: "workspace.rename", workspaceId: id, target: id, detail } };
  });
  deps.directory.putWorkspace(renamed);
  return renamed;
}

/** The operator sees all workspaces, other actors those they are a member of. */
function workspacesOf(context: ManageContext, { actor }: Exchange): Workspace[] {
  const all = context.directory.workspaces();
  if (actor === undefined || isOperatorActor(actor)) return all;
  return all.filter(({ id }) => membershipOf(context, actor, id) !== undefined);
}

/** Counts workspaces that were left too, so that a person cannot create any number of them. */
export async function hasCreatedWorkspace(
  { audit }: { audit: Pick<AuditStore, "list"> },
  email: string,
): Promise<boolean> {
  return (await audit.list({ actor: email, action: CREATE_ACTION }, 1, null)).rows.length > 0;
}

/** A person may create one workspace, if the operator allows it. */
async function requireCreator(context: ManageContext, { actor }: Exchange): Promise<void> {
  if (actor === undefined || isOperatorActor(actor)) return;
  if (actor.is === "person" && context.usersMayCreateWorkspaces) {
    if (!(await hasCreatedWorkspace(context.store, actor.person.email))) return;
    throw fault("insufficient_role", {
      message: "You have already created a workspace. Ask the operator of this gateway for another one.",
    });
  }
  throw fault("insufficient_role", {
    message: "Only the operator of this gateway can create workspaces. Ask the operator for one.",
  });
}

export function workspaceHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageListWorkspaces: buffered(async (exchange) => {
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const { rows, next } = paginate(workspacesOf(context, exchange), limit, cursor);
      return { status: 200, json: { data: rows.map(workspaceView), next } };
    }),
    manageCreateWorkspace: mutation(context, async (exchange, scope) => {
      await requireCreator(scope, exchange);
      const { slug, name, currency } = await readBody(exchange, WorkspaceCreate);
      const workspace = await scope.serialized(async () => {
        await requireCreator(scope, exchange);
        const owner = exchange.actor?.is === "person" ? exchange.actor.person.email : undefined;
        return createWorkspace(scope, { slug, name: name ?? slug, currency: currency ?? "EUR" }, owner);
      });
      return { status: 201, json: workspaceView(workspace) };
    }),
    manageShowWorkspace: buffered(async (exchange) => ({
      status: 200,
      json: workspaceView(findWorkspace(context, exchange.params["workspace"])),
    })),
    manageChangeWorkspace: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const { name } = await readBody(exchange, WorkspacePatch);
      const renamed = await scope.serialized(() => renameWorkspace(scope, findWorkspace(scope, id), name));
      return { status: 200, json: workspaceView(renamed) };
    }),
  };
}
