import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import { InvitationAccept, InvitationBody } from "../../contract/schemas/people.ts";
import { isAtLeast } from "../../domain/tenancy/actor.ts";
import type { AccountLink } from "../../domain/tenancy/person.ts";
import type { Role, Workspace } from "../../domain/tenancy/workspace.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { DAY_MS } from "../../kit/time.ts";
import { type Exchange, type Handler, type Reply, whole } from "../exchange.ts";
import { commitWithAudit, findWorkspace } from "../manage/deps.ts";
import { requireFreshSignIn, requireFreshSignInForRole } from "../manage/fresh-sign-in.ts";
import { requireRoleAtLeast } from "../manage/membership.ts";
import { isoTime } from "../manage/views.ts";
import { short } from "../printable.ts";
import { readBody, readOptionalBody } from "../request-input.ts";
import { goodLink, makeAccount, noLink, takeSeat } from "./account-creation.ts";
import { makerName, makerOf, makerShown } from "./account-links.ts";
import { publicBaseUrl } from "./accounts-deps.ts";
import type { LoginAttempt } from "./login-throttle.ts";
import { seatsOf } from "./me.ts";
import { beginRead, refuseForeign } from "./origin-check.ts";
import type { PeopleRoom } from "./room.ts";

const INVITATION_MS = 7 * DAY_MS;
/** Within 24 hours, by others than the operator: for one address, and in all. */
const OF_ADDRESS_A_DAY = 5;
const A_DAY = 200;
/** Of a workspace, the newest. */
const SHOWN_MAX = 1000;

/** What admins do with invitations. */
export function invitationHandlers(room: PeopleRoom): Record<string, Handler> {
  return {
    peopleListInvitations: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const links = await room.store.people.invitations(workspace.id, SHOWN_MAX);
      const data = await Promise.all(links.map((link) => standingView(room, link)));
      return { status: 200, json: { data, next: null } };
    }),
    peopleInvite: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const { email, role } = await readBody(exchange, InvitationBody);
      requireRoleAtLeast(exchange, role ?? "member");
      const address = email.trim().toLowerCase();
      return room.mutationLock(async () => {
        // Whoever has the link makes the account, and with it takes the seat that waits for the address.
        const waiting = room.directory.members(workspace.id).find((member) => member.email === address);
        if (waiting !== undefined) requireRoleAtLeast(exchange, waiting.role);
        if (exchange.membership !== undefined) await demandPatience(room, workspace, address);
        // It stays as it is: the invitation says so.
        const given = waiting?.role ?? role ?? "member";
        // The operator's link is believed: it takes what waits for the address elsewhere, too, now or later.
        if (exchange.membership === undefined) requireFreshSignIn(room, exchange);
        else requireFreshSignInForRole(room, exchange, given);
        return invite(room, workspace, address, given);
      });
    }),
    peopleRevokeInvitation: whole(async (exchange) => {
      const workspace = findWorkspace(room, exchange.params["workspace"]);
      const id = exchange.params["id"] ?? "";
      const link = (await room.store.people.invitations(workspace.id, SHOWN_MAX)).find((one) => one.id === id);
      if (link === undefined) throw fault("not_found", { message: `There is no invitation "${short(id)}".` });
      const audit = {
        action: "invitation.revoke",
        workspaceId: workspace.id,
        target: id,
        detail: { email: link.email },
      };
      await room.mutationLock(() =>
        commitWithAudit(room, async ({ people }) => {
          if (!(await people.revokeLink(id, room.clock.nowMs()))) throw notOpen();
          return { answer: null, audit };
        }),
      );
      return { status: 200, json: { id, revoked: true } };
    }),
  };
}

/** Each sends a mail to somebody who may not want it: whoever may invite must not flood them, nor everybody. */
async function demandPatience({ store, clock }: PeopleRoom, { id }: Workspace, email: string): Promise<void> {
  const sinceMs = clock.nowMs() - DAY_MS;
  const ofToday = (await store.people.invitations(id, SHOWN_MAX)).filter(({ createdAtMs }) => createdAtMs > sinceMs);
  const isOften = ofToday.filter((link) => link.email === email).length >= OF_ADDRESS_A_DAY;
  if (!isOften && ofToday.length < A_DAY) return;
  throw fault("rate_limit_exceeded", {
    message: isOften
      ? `${short(email)} was invited ${OF_ADDRESS_A_DAY} times today. Come back tomorrow, or ask the operator.`
      : `This workspace has sent ${A_DAY} invitations today. Come back tomorrow, or ask the operator.`,
    headers: { "retry-after": "3600" },
  });
}

async function invite(room: PeopleRoom, workspace: Workspace, email: string, role: Role): Promise<Reply> {
  const { clock, ids, makeToken, directory, store, mail } = room;
  const isMember = directory.activeMember(workspace.id, email) !== undefined;
  if (isMember && (await store.people.personByEmail(email)) !== undefined)
    throw fault("conflict", {
      message: `${short(email)} is a member of ${workspace.slug} already, and can sign in.`,
      param: "email",
    });
  const [token, now] = [makeToken(), clock.nowMs()];
  const link: AccountLink = {
    id: ids.next("lnk_"),
    kind: "invitation",
    digest: sha256Hex(token),
    email,
    membership: { workspaceId: workspace.id, role },
    issuedBy: await makerName(room),
    createdAtMs: now,
    expiresAtMs: now + INVITATION_MS,
    usedAtMs: null,
    revokedAtMs: null,
  };
  await commitWithAudit(room, async ({ people }) => {
    await people.revokeLinks("invitation", email, workspace.id, now);
    await people.addLink(link);
    const detail = { email, role };
    return { answer: null, audit: { action: "invitation.create", workspaceId: workspace.id, target: link.id, detail } };
  });
  const address = `${publicBaseUrl(room)}/app/invite?token=${token}`;
  mail?.({ to: email, subject: `An invitation to ${workspace.name}`, text: invitationText(workspace, role, address) });
  const { created_at, expires_at } = invitationView(room, link);
  const json = { id: link.id, email, role, created_at, expires_at, link: address, mailed: mail !== null };
  return { status: 201, json };
}

function invitationText({ name }: Workspace, role: Role, address: string): string {
  return [
    `You are invited to the workspace ${name}, as ${role === "member" ? "a member" : `an ${role}`}.`,
    `Accept here, within 7 days:\n${address}`,
    "If you do not know what this is about, do nothing.",
  ].join("\n\n");
}

function invitationView({ clock }: PeopleRoom, link: AccountLink) {
  return {
    id: link.id,
    email: link.email ?? "",
    role: link.membership?.role ?? "member",
    created_at: isoTime(link.createdAtMs),
    expires_at: isoTime(link.expiresAtMs),
    invited_by: makerShown(link),
    state: stateOf(link, clock.nowMs()),
  };
}

async function standingView(room: PeopleRoom, link: AccountLink) {
  const view = invitationView(room, link);
  return view.state === "open" && (await makerOf(room, link)) === "nobody" ? { ...view, state: "revoked" } : view;
}

function stateOf({ usedAtMs, revokedAtMs, expiresAtMs }: AccountLink, nowMs: number) {
  if (revokedAtMs !== null) return "revoked";
  if (usedAtMs !== null) return "accepted";
  return expiresAtMs <= nowMs ? "expired" : "open";
}

/** What whoever holds the link does with it. */
export function acceptanceHandlers(room: PeopleRoom): Record<string, Handler> {
  return {
    peopleShowInvitation: whole(async (exchange) => {
      const { link, email, workspace, role } = await invitationOf(room, exchange, beginRead(room, exchange));
      const { slug, name } = workspace;
      const account = await room.store.people.personByEmail(email);
      const json = {
        workspace: { slug, name },
        role,
        email,
        expires_at: isoTime(link.expiresAtMs),
        account_exists: account !== undefined,
      };
      return { status: 200, json, headers: { "cache-control": "no-store" } };
    }),
    peopleAcceptInvitation: whole(async (exchange) => {
      refuseForeign(exchange.headers, room.publicUrl);
      const said = await readOptionalBody(exchange, InvitationAccept);
      const trying = room.loginThrottle.begin(exchange.clientAddress);
      const { link, email, workspace, role } = await invitationOf(room, exchange, trying);
      if ((await room.store.people.personByEmail(email)) !== undefined) {
        const demand = () => demandSame(room, exchange, email);
        await demand();
        const taken = await takeSeat(room, exchange, { link, seat: { workspace, role }, email, demand });
        return { status: 200, json: { workspace: workspace.slug, role: taken.role } };
      }
      const demand = async () => demandUntaken(room, link, email, workspace);
      await demand();
      if (said.name === undefined) throw invalidValue("name", "it is required for a new account");
      if (said.password === undefined) throw invalidValue("password", "it is required for a new account");
      const account = { email, name: said.name, password: said.password };
      const proven = (await makerOf(room, link)) === "operator";
      const made = { link, operator: false, proven, seat: { workspace, role }, action: "invitation.accept", demand };
      const { cookie, joined } = await makeAccount(room, exchange, account, made);
      return { status: 200, json: { workspace: workspace.slug, role: joined?.role ?? role }, cookies: [cookie] };
    }),
  };
}

/** The invitation behind the token in the path. Tokens that are not good count like wrong passwords. */
async function invitationOf(room: PeopleRoom, { params }: Exchange, trying: LoginAttempt) {
  const link = await goodLink(room, "invitation", params["token"] ?? "");
  const workspace = link?.membership == null ? undefined : room.directory.workspace(link.membership.workspaceId);
  if (link?.membership == null || link.email === null || workspace === undefined) throw noLink();
  if ((await makerOf(room, link)) === "nobody") throw noLink();
  trying.succeed();
  return { link, email: link.email, workspace, role: link.membership.role };
}

/** An invitation is for an address: nobody takes it with another account. */
async function demandSame({ sessions }: PeopleRoom, { headers }: Exchange, email: string): Promise<void> {
  const person = await sessions.personOf(headers);
  if (person === undefined)
    throw fault("not_signed_in", { message: `There is an account for ${email}. Sign in with it, then accept.` });
  if (person.email !== email)
    throw fault("not_allowed", {
      message: `This invitation is for ${email}, and you are signed in as ${person.email}. Sign out, and sign in with that address.`,
    });
}

/**
 * A link shows that somebody was invited here, not whose the address is: whoever made it may hold it. Seats that wait
 * for the address in other workspaces, or here with a higher role, are not taken with it, unless the operator has made
 * it.
 */
async function demandUntaken(room: PeopleRoom, link: AccountLink, email: string, here: Workspace): Promise<void> {
  const maker = await makerOf(room, link);
  if (maker === "operator") return;
  const role = link.membership?.role ?? "member";
  const isOurs = seatsOf(room, email).every((seat) => seat.workspace.id === here.id && isAtLeast(role, seat.role));
  if (maker === "nobody") throw noLink();
  if (isOurs) return;
  throw fault("not_allowed", {
    message: `An account for ${email} cannot be made with this link, because more waits for the address on this gateway. Accept the invitation to that first, or ask the operator for one.`,
  });
}

function notOpen(): Fault {
  return fault("conflict", { message: "This invitation was accepted, taken back or is over already." });
}
