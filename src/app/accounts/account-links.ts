import { type Fault, fault } from "../../contract/faults.ts";
import { isAtLeast } from "../../domain/tenancy/actor.ts";
import type { AccountLink } from "../../domain/tenancy/person.ts";
import { hmacSha256Hex, sha256Hex } from "../../kit/secret.ts";
import type { AccountsContext, AccountsScope } from "./accounts-context.ts";
import type { AccountsDeps } from "./accounts-deps.ts";

type NewLink = Pick<AccountLink, "kind" | "email" | "membership" | "issuedBy"> & { readonly lifetimeMs: number };

/** A single-use link and the token in it; only the token's digest is stored. */
export function newAccountLink(
  { ids, clock, makeToken }: Pick<AccountsDeps, "ids" | "clock" | "makeToken">,
  { lifetimeMs, ...fields }: NewLink,
): { readonly link: AccountLink; readonly token: string } {
  const [token, now] = [makeToken(), clock.nowMs()];
  const link: AccountLink = {
    ...fields,
    id: ids.next("lnk_"),
    digest: sha256Hex(token),
    createdAtMs: now,
    expiresAtMs: now + lifetimeMs,
    usedAtMs: null,
    revokedAtMs: null,
  };
  return { link, token };
}

/** The link of a token, unless it is used, revoked or expired. */
export async function findValidLink(
  context: AccountsContext,
  kind: AccountLink["kind"],
  token: string,
): Promise<AccountLink | undefined> {
  const link = await context.store.people.findLink(sha256Hex(token));
  const isValid =
    link?.kind === kind &&
    link.usedAtMs === null &&
    link.revokedAtMs === null &&
    link.expiresAtMs > context.clock.nowMs();
  return isValid ? link : undefined;
}

export function invalidLink(): Fault {
  return fault("not_found", { message: "This link is invalid or has expired. Request a new one." });
}

/** The authority behind a link at this moment. `none`: the link is no longer valid. */
type LinkIssuer = "operator" | "workspace_admin" | "none";

const TOKEN_PREFIX = "token:";
const OPERATOR_PREFIX = "operator:";
const OPERATOR_MARK_CHARS = 16;

/** The caller as the issuer of a link. The operator token is named by a digest, because a link ends with its token. */
export async function issuerName(scope: AccountsScope): Promise<string> {
  return scope.caller.actor.is === "operator" ? operatorMark(scope) : scope.auditActor;
}

export const displayedIssuer = ({ issuedBy }: AccountLink): string =>
  issuedBy.startsWith(OPERATOR_PREFIX) ? "operator" : issuedBy;

async function operatorMark({ secret, adminToken }: AccountsContext): Promise<string> {
  return `${OPERATOR_PREFIX}${hmacSha256Hex(await secret(), adminToken).slice(0, OPERATOR_MARK_CHARS)}`;
}

/**
 * A link is valid for days, so its issuer is checked on every use: an admin who left or whose role is now below the role
 * that the link grants, a former operator and an expired or replaced token invalidate their links. Otherwise a removed
 * member could return through a link that they issued to themselves.
 */
export async function issuerOf(context: AccountsContext, { issuedBy, membership }: AccountLink): Promise<LinkIssuer> {
  if (issuedBy.startsWith(OPERATOR_PREFIX)) return issuedBy === (await operatorMark(context)) ? "operator" : "none";
  if (issuedBy.startsWith(TOKEN_PREFIX)) {
    const { tokens } = context.directory;
    const token = tokens.find(issuedBy.slice(TOKEN_PREFIX.length));
    const isSameWorkspace = token !== undefined && token.workspaceId === membership?.workspaceId;
    const isValid = isSameWorkspace && tokens.findValid(token.digest, context.clock.nowMs()) !== undefined;
    return isValid ? "workspace_admin" : "none";
  }
  const person = await context.store.people.personByEmail(issuedBy);
  if (person === undefined || person.disabled) return "none";
  if (person.operator) return "operator";
  if (membership === null) return "none";
  const member = context.directory.activeMember(membership.workspaceId, issuedBy);
  const mayIssue = member !== undefined && isAtLeast(member.role, "admin") && isAtLeast(member.role, membership.role);
  return mayIssue ? "workspace_admin" : "none";
}
