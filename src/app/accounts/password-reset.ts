import { type Fault, fault } from "../../contract/faults.ts";
import { isAtLeast } from "../../domain/tenancy/actor.ts";
import type { AccountLink, PersonRecord } from "../../domain/tenancy/person.ts";
import { HashingBusyError } from "../../kit/password-hasher.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { type Exchange, type Handler, type Reply, whole } from "../exchange.ts";
import { commitWithAudit, findWorkspace } from "../manage/deps.ts";
import { requireFreshSignIn } from "../manage/fresh-sign-in.ts";
import { requireRoleAtLeast } from "../manage/membership.ts";
import { isoTime } from "../manage/views.ts";
import { short } from "../printable.ts";
import { findPerson, refuseErased, refuseOwn } from "./account-admin.ts";
import { makerName, makerOf } from "./account-links.ts";
import { publicBaseUrl } from "./accounts-deps.ts";
import { tooBusy } from "./auth-errors.ts";
import { seatsOf } from "./me.ts";
import { keptOf } from "./reset-token.ts";
import type { PeopleRoom } from "./room.ts";

type LinkSeat = NonNullable<AccountLink["membership"]>;

const RESET_MS = 24 * 3_600_000;
/** Of a workspace, the newest. */
const INVITATIONS_MAX = 10_000;

/** Links to set a new password, handed over by whoever made them: for where no mail leaves. */
export function resetHandlers(room: PeopleRoom): Record<string, Handler> {
  return {
    peopleReset: whole((exchange) =>
      room.mutationLock(async () => {
        const person = await findPerson(room, exchange);
        refuseOwn(exchange, person.id);
        refuseErased(person);
        return makeReset(room, exchange, person, null);
      }),
    ),
    peopleResetMember: whole((exchange) =>
      room.mutationLock(async () => {
        const workspace = findWorkspace(room, exchange.params["workspace"]);
        const email = (exchange.params["email"] ?? "").trim().toLowerCase();
        const member = room.directory.activeMember(workspace.id, email);
        const person = member === undefined ? undefined : await room.store.people.personByEmail(email);
        if (member === undefined || person === undefined)
          throw fault("not_found", { message: `${short(email)} has no account in ${workspace.slug}. Invite them.` });
        refuseOwn(exchange, person.id);
        requireRoleAtLeast(exchange, member.role);
        const seat = { workspaceId: workspace.id, role: member.role };
        // Who sets the password of an account is that person everywhere.
        if (exchange.membership !== undefined && isMore(room, person, seat))
          throw fault("not_allowed", {
            message: `${email} belongs to more than this workspace: only the operator makes a link for them.`,
          });
        if (exchange.membership !== undefined && !(await hasAccepted(room, workspace.id, email)))
          throw fault("not_allowed", {
            message: `${email} has made the account in another way than by an invitation to ${workspace.slug}: only the operator makes a link for them.`,
          });
        return makeReset(room, exchange, person, seat);
      }),
    ),
  };
}

/** Whether there is more to a person than this seat. */
function isMore(room: PeopleRoom, { operator, email }: PersonRecord, seat: LinkSeat): boolean {
  const isWithin = ({ workspace, role }: ReturnType<typeof seatsOf>[number]) =>
    workspace.id === seat.workspaceId && isAtLeast(seat.role, role);
  return operator || !seatsOf(room, email).every(isWithin);
}

/** Whoever was only written into a workspace has never said that its admins may help with their account. */
async function hasAccepted({ store }: PeopleRoom, workspaceId: string, email: string): Promise<boolean> {
  const links = await store.people.invitations(workspaceId, INVITATIONS_MAX);
  return links.some((link) => link.email === email && link.usedAtMs !== null && link.revokedAtMs === null);
}

/**
 * A new password by a link, mailed or handed over. All that the password ends goes with it, or nothing does: so it is
 * good for whoever holds the link, and for nobody who was in before.
 */
export async function resetPassword(
  room: PeopleRoom,
  { clientAddress: address }: Exchange,
  token: string,
  password: string,
): Promise<Reply> {
  const { store, clock, hasher } = room;
  const identifier = keptOf(token);
  if ((await store.people.findPasswordResetUser(identifier, clock.nowMs())) === undefined) throw noReset();
  const hash = await hasher.hash(password).catch((error: unknown) => {
    throw error instanceof HashingBusyError ? tooBusy() : error;
  });
  const link = await store.people.findLink(sha256Hex(token));
  const write = async (): Promise<Reply> => {
    const id = await store.people.findPasswordResetUser(identifier, clock.nowMs());
    const person = id === undefined ? undefined : await store.people.person(id);
    if (person === undefined) throw noReset();
    const isDoubtful = link !== undefined && (await isOfAdmin(room, link, person));
    await commitWithAudit(room, async ({ people }) => {
      const now = clock.nowMs();
      if (!(await people.resetPassword(person.id, identifier, hash, now))) throw noReset();
      if (link !== undefined && !(await people.consumeLink(link.id, now))) throw noReset();
      // Who made the link may be the one who sets the password.
      if (isDoubtful) await people.markEmailUnverified(person.id, now);
      const line = { actor: person.email, action: "person.password_reset", workspaceId: null, target: person.id };
      return { answer: null, audit: { ...line, detail: { address } } };
    });
    return { status: 200, json: { status: true } };
  };
  // What a link is good for that somebody has made hangs on seats, theirs and the person's. A mailed one hangs on nothing.
  return link === undefined ? write() : room.mutationLock(write);
}

/**
 * A link that an admin has made opens the account as it was then: not one that has become more since, or whose role is
 * higher, nor after it was removed from there. None is good of an admin or an operator who is none any more.
 */
async function isOfAdmin(room: PeopleRoom, link: AccountLink, person: PersonRecord): Promise<boolean> {
  const maker = await makerOf(room, link);
  if (maker === "operator") return false;
  if (maker === "nobody" || link.membership === null || isMore(room, person, link.membership)) throw noReset();
  return true;
}

const noReset = (): Fault =>
  fault("invalid_value", { message: "This link is not good any more. Ask for a new one.", param: "token" });

async function makeReset(
  room: PeopleRoom,
  exchange: Exchange,
  person: PersonRecord,
  membership: AccountLink["membership"],
): Promise<Reply> {
  requireFreshSignIn(room, exchange);
  const { clock, makeToken, ids } = room;
  const [token, now] = [makeToken(), clock.nowMs()];
  const expiresAtMs = now + RESET_MS;
  const issuedBy = await makerName(room);
  await commitWithAudit(room, async ({ people }) => {
    const { email } = person;
    await people.addLink({
      id: ids.next("lnk_"),
      kind: "reset",
      digest: sha256Hex(token),
      email,
      membership,
      issuedBy,
      createdAtMs: now,
      expiresAtMs,
      usedAtMs: null,
      revokedAtMs: null,
    });
    await people.addPasswordReset(ids.next("aut_"), person.id, keptOf(token), now, expiresAtMs);
    const audit = { action: "person.reset_link", workspaceId: membership?.workspaceId ?? null, target: person.id };
    return { answer: null, audit: { ...audit, detail: { email } } };
  });
  const link = `${publicBaseUrl(room)}/app/reset-password?token=${token}`;
  return { status: 201, json: { link, expires_at: isoTime(expiresAtMs) } };
}
