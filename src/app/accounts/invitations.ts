import type { z } from "zod";
import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import { InvitationAccept, InvitationBody } from "../../contract/schemas/people.ts";
import { isAtLeast } from "../../domain/tenancy/actor.ts";
import type { SpendAmounts } from "../../domain/tenancy/limits.ts";
import type { AccountLink } from "../../domain/tenancy/person.ts";
import type { Role, Workspace } from "../../domain/tenancy/workspace.ts";
import { DAY_MS } from "../../kit/time.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { mutation } from "../manage/caller-scope.ts";
import { commitWithAudit, findWorkspace } from "../manage/deps.ts";
import { requireFreshSignIn, requireFreshSignInForRole } from "../manage/fresh-sign-in.ts";
import { requireRoleAtLeast } from "../manage/membership.ts";
import { limitAmounts, parseLimitChange } from "../manage/money/limits.ts";
import { isoTime } from "../manage/views.ts";
import { printable } from "../printable.ts";
import { readBody, readOptionalBody } from "../request-input.ts";
import { createAccount } from "./account-creation.ts";
import { displayedIssuer, findValidLink, invalidLink, issuerName, issuerOf, newAccountLink } from "./account-links.ts";
import type { AccountsContext, AccountsScope } from "./accounts-context.ts";
import { publicBaseUrl } from "./accounts-deps.ts";
import type { LoginAttempt } from "./login-throttle.ts";
import { acceptMembership, membershipsOf } from "./memberships.ts";
import { beginReadAttempt, requireSameOrigin } from "./origin-check.ts";

const INVITATION_MS = 7 * DAY_MS;
/** Invitations per 24 hours and workspace, for one address and in total; the operator has no limit. */
const DAILY_PER_ADDRESS_MAX = 5;
const DAILY_MAX = 200;
/** Newest invitations of a workspace that are listed. */
const LISTED_MAX = 1000;

/** How admins issue and revoke invitations. */
export function invitationHandlers(context: AccountsContext): Record<string, Handler> {
  return {
    peopleListInvitations: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const links = await context.store.people.invitations(workspace.id, LISTED_MAX);
      const data = await Promise.all(links.map((link) => currentInvitationView(context, link)));
      return { status: 200, json: { data, next: null } };
    }),
    peopleInvite: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const { email, role, limits } = await readBody(exchange, InvitationBody);
      requireRoleAtLeast(exchange, role ?? "member");
      const amounts = parseLimits(limits);
      const address = email.trim().toLowerCase();
      return scope.serialized(async () => {
        // The link gives its holder the membership that is already recorded for the address, with its role.
        const existing = scope.directory.members(workspace.id).find((member) => member.email === address);
        if (existing !== undefined) requireRoleAtLeast(exchange, existing.role);
        if (exchange.membership !== undefined) await requireDailyQuota(scope, workspace, address);
        const granted = existing?.role ?? role ?? "member";
        // An operator's link verifies the address: it also gives access to memberships in other workspaces.
        if (exchange.membership === undefined) requireFreshSignIn(scope, exchange);
        else requireFreshSignInForRole(scope, exchange, granted);
        return invite(scope, workspace, address, { role: granted, limits: amounts });
      });
    }),
    peopleRevokeInvitation: mutation(context, async (exchange, scope) => {
      const workspace = findWorkspace(scope, exchange.params["workspace"]);
      const id = exchange.params["id"] ?? "";
      const link = (await scope.store.people.invitations(workspace.id, LISTED_MAX)).find((one) => one.id === id);
      if (link === undefined) throw fault("not_found", { message: `There is no invitation "${printable(id)}".` });
      const audit = {
        action: "invitation.revoke",
        workspaceId: workspace.id,
        target: id,
        detail: { email: link.email },
      };
      await scope.serialized(() =>
        commitWithAudit(scope, async ({ people }) => {
          if (!(await people.revokeLink(id, scope.clock.nowMs()))) throw notOpen();
          return { answer: null, audit };
        }),
      );
      return { status: 200, json: { id, revoked: true } };
    }),
  };
}

/** Every invitation sends a mail, so that admins could flood an address or many of them. */
async function requireDailyQuota({ store, clock }: AccountsContext, { id }: Workspace, email: string): Promise<void> {
  const sinceMs = clock.nowMs() - DAY_MS;
  const recent = (await store.people.invitations(id, LISTED_MAX)).filter(({ createdAtMs }) => createdAtMs > sinceMs);
  const isAddressExhausted = recent.filter((link) => link.email === email).length >= DAILY_PER_ADDRESS_MAX;
  if (!isAddressExhausted && recent.length < DAILY_MAX) return;
  throw fault("rate_limit_exceeded", {
    message: isAddressExhausted
      ? `${printable(email)} was already invited ${DAILY_PER_ADDRESS_MAX} times today. Try again tomorrow, or ask the operator.`
      : `This workspace has already sent ${DAILY_MAX} invitations today. Try again tomorrow, or ask the operator.`,
    headers: { "retry-after": "3600" },
  });
}

type InvitedMembership = { readonly role: Role; readonly limits: SpendAmounts | undefined };

function parseLimits(input: z.infer<typeof InvitationBody>["limits"]): SpendAmounts | undefined {
  const { dayNanos = null, monthNanos = null } = parseLimitChange(input ?? {}, "limits.");
  return dayNanos === null && monthNanos === null ? undefined : { dayNanos, monthNanos };
}

async function invite(
  scope: AccountsScope,
  workspace: Workspace,
  email: string,
  { role, limits }: InvitedMembership,
): Promise<HttpResponse> {
  const { directory, store, mail } = scope;
  const isMember = directory.activeMember(workspace.id, email) !== undefined;
  if (isMember && (await store.people.personByEmail(email)) !== undefined)
    throw fault("conflict", {
      message: `${printable(email)} is already a member of ${workspace.slug} and can sign in.`,
      param: "email",
    });
  const { link, token } = newAccountLink(scope, {
    kind: "invitation",
    email,
    membership: { workspaceId: workspace.id, role, limits },
    issuedBy: await issuerName(scope),
    lifetimeMs: INVITATION_MS,
  });
  await commitWithAudit(scope, async ({ people }) => {
    await people.revokeLinks("invitation", email, workspace.id, link.createdAtMs);
    await people.addLink(link);
    const detail = { email, role, ...(limits === undefined ? {} : { limits: limitAmounts(limits) }) };
    return { answer: null, audit: { action: "invitation.create", workspaceId: workspace.id, target: link.id, detail } };
  });
  const url = `${publicBaseUrl(scope)}/app/invite?token=${token}`;
  mail?.({ to: email, subject: `Invitation to ${workspace.name}`, text: invitationText(workspace, role, url) });
  const { created_at, expires_at, limits: shownLimits } = invitationView(scope, link);
  const invitation = { id: link.id, email, role, limits: shownLimits, created_at, expires_at };
  const json = { ...invitation, link: url, mailed: mail !== null };
  return { status: 201, json };
}

function invitationText({ name }: Workspace, role: Role, url: string): string {
  return [
    `You have been invited to the workspace ${name} as ${role === "member" ? "a member" : `an ${role}`}.`,
    `Accept the invitation within 7 days:\n${url}`,
    "If you did not expect this invitation, ignore this email.",
  ].join("\n\n");
}

function invitationView({ clock }: AccountsContext, link: AccountLink) {
  return {
    id: link.id,
    email: link.email ?? "",
    role: link.membership?.role ?? "member",
    limits: link.membership?.limits === undefined ? null : limitAmounts(link.membership.limits),
    created_at: isoTime(link.createdAtMs),
    expires_at: isoTime(link.expiresAtMs),
    invited_by: displayedIssuer(link),
    state: invitationState(link, clock.nowMs()),
  };
}

/** An open invitation whose issuer lost its authority is shown as revoked. */
async function currentInvitationView(context: AccountsContext, link: AccountLink) {
  const view = invitationView(context, link);
  return view.state === "open" && (await issuerOf(context, link)) === "none" ? { ...view, state: "revoked" } : view;
}

function invitationState({ usedAtMs, revokedAtMs, expiresAtMs }: AccountLink, nowMs: number) {
  if (revokedAtMs !== null) return "revoked";
  if (usedAtMs !== null) return "accepted";
  return expiresAtMs <= nowMs ? "expired" : "open";
}

/** How the holder of an invitation link uses it. */
export function acceptanceHandlers(context: AccountsContext): Record<string, Handler> {
  return {
    peopleShowInvitation: buffered(async (exchange) => {
      const attempt = beginReadAttempt(context, exchange);
      const { link, email, workspace, role } = await requireInvitation(context, exchange, attempt);
      const { slug, name } = workspace;
      const account = await context.store.people.personByEmail(email);
      const json = {
        workspace: { slug, name },
        role,
        email,
        expires_at: isoTime(link.expiresAtMs),
        account_exists: account !== undefined,
      };
      return { status: 200, json, headers: { "cache-control": "no-store" } };
    }),
    peopleAcceptInvitation: buffered(async (exchange) => {
      requireSameOrigin(exchange.headers, context.publicUrl);
      const input = await readOptionalBody(exchange, InvitationAccept);
      const attempt = context.loginThrottle.begin({ is: "client", address: exchange.clientAddress });
      const { link, email, workspace, role } = await requireInvitation(context, exchange, attempt);
      const granted = { workspace, role, limits: link.membership?.limits };
      if ((await context.store.people.personByEmail(email)) !== undefined) {
        const authorize = () => requireSignedInAs(context, exchange, email);
        await authorize();
        const member = await acceptMembership(context, exchange, { link, granted, email, authorize });
        return { status: 200, json: { workspace: workspace.slug, role: member.role } };
      }
      const authorize = async () => requireNoOtherMemberships(context, link, email, workspace);
      await authorize();
      if (input.name === undefined) throw invalidValue("name", "is required for a new account");
      if (input.password === undefined) throw invalidValue("password", "is required for a new account");
      const account = { email, name: input.name, password: input.password };
      const isEmailVerified = (await issuerOf(context, link)) === "operator";
      const grant = { link, isOperator: false, isEmailVerified, granted, action: "invitation.accept", authorize };
      const { cookies, member } = await createAccount(context, exchange, account, grant);
      return { status: 200, json: { workspace: workspace.slug, role: member?.role ?? role }, cookies };
    }),
  };
}

/** The invitation of the token in the path; an invalid token counts as a failed attempt. */
async function requireInvitation(context: AccountsContext, { params }: Exchange, attempt: LoginAttempt) {
  const link = await findValidLink(context, "invitation", params["token"] ?? "");
  const workspace = link?.membership == null ? undefined : context.directory.workspace(link.membership.workspaceId);
  if (link?.membership == null || link.email === null || workspace === undefined) throw invalidLink();
  if ((await issuerOf(context, link)) === "none") throw invalidLink();
  attempt.succeed();
  return { link, email: link.email, workspace, role: link.membership.role };
}

/** An invitation can only be accepted with the account of its address. */
async function requireSignedInAs({ sessions }: AccountsContext, { headers }: Exchange, email: string): Promise<void> {
  const person = await sessions.personOf(headers);
  if (person === undefined)
    throw fault("not_signed_in", {
      message: `There is already an account for ${email}. Sign in with it, then accept the invitation.`,
    });
  if (person.email !== email)
    throw fault("not_allowed", {
      message: `This invitation is for ${email}, but you are signed in as ${person.email}. Sign out, then sign in as ${email}.`,
    });
}

/**
 * An admin's link does not prove who owns the address, because the admin can read the link. An account that is created
 * with it must not gain memberships in other workspaces or a higher role here; only an operator's link may do that.
 */
async function requireNoOtherMemberships(
  context: AccountsContext,
  link: AccountLink,
  email: string,
  workspace: Workspace,
): Promise<void> {
  const issuer = await issuerOf(context, link);
  if (issuer === "operator") return;
  const granted = link.membership?.role ?? "member";
  const isCovered = membershipsOf(context, email).every(
    (membership) => membership.workspace.id === workspace.id && isAtLeast(granted, membership.role),
  );
  if (issuer === "none") throw invalidLink();
  if (isCovered) return;
  throw fault("not_allowed", {
    message: `This link cannot create an account for ${email}, because the address has another pending invitation on this gateway. Accept that invitation first, or ask the operator for one.`,
  });
}

function notOpen(): Fault {
  return fault("conflict", { message: "This invitation was already accepted, revoked or has expired." });
}
