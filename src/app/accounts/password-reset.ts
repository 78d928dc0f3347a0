import { type Fault, fault } from "../../contract/faults.ts";
import { isAtLeast } from "../../domain/tenancy/actor.ts";
import type { AccountLink, PersonRecord } from "../../domain/tenancy/person.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { DAY_MS } from "../../kit/time.ts";
import type { Exchange, Handler, HttpResponse } from "../exchange.ts";
import { mutation } from "../manage/caller-scope.ts";
import { commitWithAudit, findWorkspace } from "../manage/deps.ts";
import { requireFreshSignIn } from "../manage/fresh-sign-in.ts";
import { requireRoleAtLeast } from "../manage/membership.ts";
import { isoTime } from "../manage/views.ts";
import { printable } from "../printable.ts";
import { findPerson, rejectErased, rejectOwnAccount } from "./account-admin.ts";
import { issuerName, issuerOf, newAccountLink } from "./account-links.ts";
import type { AccountsContext, AccountsScope } from "./accounts-context.ts";
import { publicBaseUrl } from "./accounts-deps.ts";
import { membershipsOf } from "./memberships.ts";
import { hashPassword } from "./password-policy.ts";
import { LIBRARY_RESET_PREFIX, storedResetIdentifier } from "./reset-identifier.ts";

type LinkMembership = NonNullable<AccountLink["membership"]>;

/** Newest invitations of a workspace that are searched for an accepted one. */
const INVITATIONS_MAX = 10_000;

const storedIdentifierOfToken = (token: string): string => storedResetIdentifier(`${LIBRARY_RESET_PREFIX}${token}`);

/** Reset links that an operator or admin hands over, for gateways without a mail server. */
export function passwordResetHandlers(context: AccountsContext): Record<string, Handler> {
  return {
    peopleReset: mutation(context, (exchange, scope) =>
      scope.serialized(async () => {
        const person = await findPerson(scope, exchange);
        rejectOwnAccount(exchange, person.id);
        rejectErased(person);
        return createResetLink(scope, exchange, person, null);
      }),
    ),
    peopleResetMember: mutation(context, (exchange, scope) =>
      scope.serialized(async () => {
        const workspace = findWorkspace(scope, exchange.params["workspace"]);
        const email = (exchange.params["email"] ?? "").trim().toLowerCase();
        const member = scope.directory.activeMember(workspace.id, email);
        const person = member === undefined ? undefined : await scope.store.people.personByEmail(email);
        if (member === undefined || person === undefined)
          throw fault("not_found", {
            message: `${printable(email)} has no account in ${workspace.slug}. Send an invitation.`,
          });
        rejectOwnAccount(exchange, person.id);
        requireRoleAtLeast(exchange, member.role);
        const membership = { workspaceId: workspace.id, role: member.role };
        // A password gives access to the whole account, in every workspace.
        if (exchange.membership !== undefined && hasMoreAccess(scope, person, membership))
          throw fault("not_allowed", {
            message: `${email} belongs to other workspaces as well: only the operator can create a reset link.`,
          });
        if (exchange.membership !== undefined && !(await hasAcceptedInvitation(scope, workspace.id, email)))
          throw fault("not_allowed", {
            message: `${email} did not join by an invitation to ${workspace.slug}: only the operator can create a reset link.`,
          });
        return createResetLink(scope, exchange, person, membership);
      }),
    ),
  };
}

/** Whether a person has any access beyond this membership. */
function hasMoreAccess(
  context: AccountsContext,
  { operator, email }: PersonRecord,
  membership: LinkMembership,
): boolean {
  const isCovered = ({ workspace, role }: ReturnType<typeof membershipsOf>[number]) =>
    workspace.id === membership.workspaceId && isAtLeast(membership.role, role);
  return operator || !membershipsOf(context, email).every(isCovered);
}

/** A member who was added without accepting has not agreed that the workspace's admins may reset their password. */
async function hasAcceptedInvitation({ store }: AccountsContext, workspaceId: string, email: string): Promise<boolean> {
  const links = await store.people.invitations(workspaceId, INVITATIONS_MAX);
  return links.some((link) => link.email === email && link.usedAtMs !== null && link.revokedAtMs === null);
}

/** Sets a password through a mailed or handed-over link, and ends everything that the old password gave access to. */
export async function resetPassword(
  context: AccountsContext,
  { clientAddress: address }: Exchange,
  token: string,
  password: string,
): Promise<HttpResponse> {
  const { store, clock } = context;
  const identifier = storedIdentifierOfToken(token);
  if ((await store.people.findPendingUser(identifier, clock.nowMs())) === undefined) throw invalidResetLink();
  const hash = await hashPassword(context, password);
  const link = await store.people.findLink(sha256Hex(token));
  const reset = async (): Promise<HttpResponse> => {
    const id = await store.people.findPendingUser(identifier, clock.nowMs());
    const person = id === undefined ? undefined : await store.people.person(id);
    if (person === undefined) throw invalidResetLink();
    const isIssuedByAdmin =
      link !== undefined && (await requireValidIssuer(context, link, person)) === "workspace_admin";
    await commitWithAudit({ ...context, auditActor: person.email }, async ({ people }) => {
      const now = clock.nowMs();
      if (!(await people.resetPassword(person.id, identifier, hash, now))) throw invalidResetLink();
      if (link !== undefined && !(await people.consumeLink(link.id, now))) throw invalidResetLink();
      // The admin who issued the link may have set the password.
      if (isIssuedByAdmin) await people.markEmailUnverified(person.id, now);
      const audit = { action: "person.password_reset", workspaceId: null, target: person.id, detail: { address } };
      return { answer: null, audit };
    });
    return { status: 200, json: { status: true } };
  };
  // An issued link depends on memberships, which the lock keeps stable; a mailed link depends on nothing else.
  return link === undefined ? reset() : context.mutationLock.run(reset);
}

/**
 * An admin's link opens the account only as it was when the link was issued: not after it gained access elsewhere or a
 * higher role, and not after it left the workspace.
 */
async function requireValidIssuer(
  context: AccountsContext,
  link: AccountLink,
  person: PersonRecord,
): Promise<"operator" | "workspace_admin"> {
  const issuer = await issuerOf(context, link);
  if (issuer === "operator") return issuer;
  if (issuer === "none" || link.membership === null || hasMoreAccess(context, person, link.membership))
    throw invalidResetLink();
  return issuer;
}

const invalidResetLink = (): Fault =>
  fault("invalid_value", { message: "This link is invalid or has expired. Request a new one.", param: "token" });

async function createResetLink(
  scope: AccountsScope,
  exchange: Exchange,
  { id: personId, email }: PersonRecord,
  membership: AccountLink["membership"],
): Promise<HttpResponse> {
  requireFreshSignIn(scope, exchange);
  const issuedBy = await issuerName(scope);
  const { link, token } = newAccountLink(scope, { kind: "reset", email, membership, issuedBy, lifetimeMs: DAY_MS });
  const { createdAtMs, expiresAtMs } = link;
  await commitWithAudit(scope, async ({ people }) => {
    await people.addLink(link);
    const resetId = scope.ids.next("aut_");
    await people.addPasswordReset(resetId, personId, storedIdentifierOfToken(token), createdAtMs, expiresAtMs);
    const workspaceId = membership?.workspaceId ?? null;
    return {
      answer: null,
      audit: { action: "person.reset_link", workspaceId, target: personId, detail: { email } },
    };
  });
  const url = `${publicBaseUrl(scope)}/app/reset-password?token=${token}`;
  return { status: 201, json: { link: url, expires_at: isoTime(expiresAtMs) } };
}
