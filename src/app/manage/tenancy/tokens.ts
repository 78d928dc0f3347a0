import { fault } from "../../../contract/faults.ts";
import { TokenCreate } from "../../../contract/schemas/manage-tokens.ts";
import { PageQuery } from "../../../contract/schemas/manage-values.ts";
import { type ManagementToken, TOKEN_PREFIX } from "../../../domain/tenancy/token.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { randomToken, sha256Hex } from "../../../kit/secret.ts";
import { type Handler, whole } from "../../exchange.ts";
import { short } from "../../printable.ts";
import { readBody, readQuery } from "../../request-input.ts";
import { actorName } from "../acting.ts";
import { type ChangeDeps, commitWithAudit, findWorkspace, type ManageContext } from "../deps.ts";
import { requireFreshSignInForRole } from "../fresh-sign-in.ts";
import { paginate } from "../page.ts";
import { isoTime } from "../views.ts";
import { parseTime } from "./key-settings.ts";

const TOKEN_BYTES = 32;
/** Far more than a workspace has programs; without it one could fill the memory. */
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

async function createToken(room: ManageContext, workspace: Workspace, asked: TokenInput) {
  if (room.directory.tokens.inWorkspace(workspace.id).length >= TOKENS_MAX)
    throw fault("conflict", { message: `A workspace has at most ${TOKENS_MAX} management tokens: remove one first.` });
  const secret = `${TOKEN_PREFIX}${randomToken(TOKEN_BYTES)}`;
  const token: ManagementToken = {
    ...asked,
    id: room.ids.next("tok_"),
    workspaceId: workspace.id,
    digest: sha256Hex(secret),
    createdAtMs: room.clock.nowMs(),
    createdBy: actorName(),
  };
  await commitWithAudit(room, async ({ tenancy }) => {
    await tenancy.addToken(token);
    const { id, name, access } = token;
    const detail = { name, access, expires_at: tokenView(token).expires_at };
    return { answer: null, audit: { action: "token.create", workspaceId: workspace.id, target: id, detail } };
  });
  room.directory.tokens.put(token);
  return { ...tokenView(token), token: secret };
}

function findToken(room: ManageContext, workspace: Workspace, id: string): ManagementToken {
  const token = room.directory.tokens.find(id);
  if (token?.workspaceId === workspace.id) return token;
  throw fault("not_found", { message: `Workspace ${workspace.slug} has no management token "${short(id)}".` });
}

/** A line in the log of its workspace says it; `why` goes along. */
export async function removeToken(
  deps: ChangeDeps & Pick<ManageContext, "directory">,
  { id, workspaceId, name }: ManagementToken,
  why: object = {},
  actor = actorName(),
): Promise<void> {
  await commitWithAudit(deps, async ({ tenancy }) => {
    await tenancy.removeToken(id);
    return {
      answer: null,
      audit: { actor, action: "token.remove", workspaceId, target: id, detail: { name, ...why } },
    };
  });
  deps.directory.tokens.remove(id);
}

export function tokenHandlers(room: ManageContext): Record<string, Handler> {
  return {
    manageListTokens: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const { limit, cursor } = readQuery(exchange, PageQuery);
      const { rows, next } = paginate(room.directory.tokens.inWorkspace(workspace.id), limit, cursor);
      return { status: 200, json: { data: rows.map(tokenView), next } };
    }),
    manageCreateToken: whole(async (exchange) => {
      const { id } = findWorkspace(room, exchange.params["workspace"]);
      const { name, access, expires_at } = await readBody(exchange, TokenCreate);
      const expiresAtMs = parseTime("expires_at", expires_at ?? null);
      const asked = { name, access, expiresAtMs };
      // One that writes does what an admin may.
      if (access === "write") requireFreshSignInForRole(room, exchange, "admin");
      const json = await room.inTurn(() => createToken(room, findWorkspace(room, id), asked));
      return { status: 201, json };
    }),
    manageRemoveToken: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const id = exchange.params["id"] ?? "";
      await room.inTurn(async () => removeToken(room, findToken(room, workspace, id)));
      return { status: 200, json: { id, removed: true } };
    }),
  };
}
