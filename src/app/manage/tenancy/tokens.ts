import { fault } from "../../../contract/faults.ts";
import { TokenCreate } from "../../../contract/schemas/manage-tokens.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import { type ManagementToken, TOKEN_PREFIX } from "../../../domain/tenancy/token.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { randomToken, sha256Hex } from "../../../kit/secret.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { printable } from "../../printable.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { mutation } from "../caller-scope.ts";
import { type ChangeDeps, commitWithAudit, findWorkspace, type ManageContext, type ManageScope } from "../deps.ts";
import { requireFreshSignInForRole } from "../fresh-sign-in.ts";
import { paginate } from "../page.ts";
import { isoTime } from "../views.ts";
import { parseTime } from "./key-settings.ts";

const TOKEN_BYTES = 32;
/** Bounds the memory of a workspace's tokens. */
const TOKENS_MAX = 100;

function tokenView(token: ManagementToken) {
  return {
    id: token.id,
    name: token.name,
    access: token.access,
    created_at: isoTime(token.createdAtMs),
    created_by: token.createdBy,
    expires_at: token.expiresAtMs === null ? null : isoTime(token.expiresAtMs),
  };
}

type TokenInput = Pick<ManagementToken, "name" | "access" | "expiresAtMs">;

async function createToken(scope: ManageScope, workspace: Workspace, input: TokenInput) {
  if (scope.directory.tokens.inWorkspace(workspace.id).length >= TOKENS_MAX)
    throw fault("conflict", {
      message: `A workspace can have at most ${TOKENS_MAX} management tokens. Revoke one first.`,
    });
  const secret = `${TOKEN_PREFIX}${randomToken(TOKEN_BYTES)}`;
  const token: ManagementToken = {
    ...input,
    id: scope.ids.next("tok_"),
    workspaceId: workspace.id,
    digest: sha256Hex(secret),
    createdAtMs: scope.clock.nowMs(),
    createdBy: scope.auditActor,
  };
  await commitWithAudit(scope, async ({ tenancy }) => {
    await tenancy.addToken(token);
    const { id, name, access } = token;
    const detail = { name, access, expires_at: tokenView(token).expires_at };
    return { answer: null, audit: { action: "token.create", workspaceId: workspace.id, target: id, detail } };
  });
  scope.directory.tokens.put(token);
  return { ...tokenView(token), token: secret };
}

function findToken(context: ManageContext, workspace: Workspace, id: string): ManagementToken {
  const token = context.directory.tokens.find(id);
  if (token?.workspaceId === workspace.id) return token;
  throw fault("not_found", { message: `Workspace ${workspace.slug} has no management token "${printable(id)}".` });
}

/** `why` is added to the audit entry, which belongs to the token's workspace. */
export async function removeToken(
  deps: ChangeDeps & Pick<ManageContext, "directory">,
  { id, workspaceId, name }: ManagementToken,
  why: object = {},
): Promise<void> {
  await commitWithAudit(deps, async ({ tenancy }) => {
    await tenancy.removeToken(id);
    return {
      answer: null,
      audit: { action: "token.remove", workspaceId, target: id, detail: { name, ...why } },
    };
  });
  deps.directory.tokens.remove(id);
}

export function tokenHandlers(context: ManageContext): Record<string, Handler> {
  return {
    manageListTokens: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const { rows, next } = paginate(context.directory.tokens.inWorkspace(workspace.id), limit, cursor);
      return { status: 200, json: { data: rows.map(tokenView), next } };
    }),
    manageCreateToken: mutation(context, async (exchange, scope) => {
      const { id } = findWorkspace(scope, exchange.params["workspace"]);
      const { name, access, expires_at } = await readBody(exchange, TokenCreate);
      const expiresAtMs = parseTime("expires_at", expires_at ?? null);
      const input = { name, access, expiresAtMs };
      // A write token has the permissions of an admin.
      if (access === "write") requireFreshSignInForRole(scope, exchange, "admin");
      const json = await scope.serialized(() => createToken(scope, findWorkspace(scope, id), input));
      return { status: 201, json };
    }),
    manageRemoveToken: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const id = exchange.params["id"] ?? "";
      await scope.serialized(async () => removeToken(scope, findToken(scope, workspace, id)));
      return { status: 200, json: { id, removed: true } };
    }),
  };
}
