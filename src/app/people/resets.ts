import { fault } from "../../contract/faults.ts";
import { isAtLeast } from "../../domain/tenancy/actor.ts";
import type { PersonLink, PersonRecord } from "../../domain/tenancy/person.ts";
import { digestOf } from "../../kit/secret.ts";
import { type Exchange, type Handler, type Reply, whole } from "../exchange.ts";
import { change, findWorkspace } from "../manage/deps.ts";
import { demandFresh } from "../manage/fresh.ts";
import { demandRank } from "../manage/seat.ts";
import { isoTime } from "../manage/views.ts";
import { short } from "../short.ts";
import { baseOf } from "./deps.ts";
import { makerName, makerOf } from "./makers.ts";
import { seatsOf } from "./me.ts";
import { findPerson, refuseErased, refuseOwn } from "./people.ts";
import { keptReset, RESET_PREFIX } from "./reset-token.ts";
import type { PeopleRoom } from "./room.ts";

type LinkSeat = NonNullable<PersonLink["seat"]>;

const RESET_MS = 24 * 3_600_000;
/** Of a workspace, the newest. */
const INVITATIONS_MAX = 10_000;

/** Links to set a new password, handed over by whoever made them: for where no mail leaves. */
export function resetHandlers(room: PeopleRoom): Record<string, Handler> {
  return {
    peopleReset: whole((exchange) =>
      room.inTurn(async () => {
        const person = await findPerson(room, exchange);
        refuseOwn(exchange, person.id);
        refuseErased(person);
        return makeReset(room, exchange, person, null);
      }),
    ),
    peopleResetMember: whole((exchange) =>
      room.inTurn(async () => {
        const workspace = findWorkspace(room, exchange.params["workspace"]);
        const email = (exchange.params["email"] ?? "").trim().toLowerCase();
        const member = room.directory.holder(workspace.id, email);
        const person = member === undefined ? undefined : await room.store.people.personByEmail(email);
        if (member === undefined || person === undefined)
          throw fault("not_found", { message: `${short(email)} has no account in ${workspace.slug}. Invite them.` });
        refuseOwn(exchange, person.id);
        demandRank(exchange, member.role);
        const seat = { workspaceId: workspace.id, role: member.role };
        // Who sets the password of an account is that person everywhere.
        if (exchange.seat !== undefined && isMore(room, person, seat))
          throw fault("not_allowed", {
            message: `${email} belongs to more than this workspace: only the operator makes a link for them.`,
          });
        if (exchange.seat !== undefined && !(await hasAccepted(room, workspace.id, email)))
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
 * A link that an admin has made opens the account as it was then: not one that has become more since, or whose role is
 * higher, nor after it was removed from there. None is good of an admin or an operator who is none any more. Who made it
 * and is not the operator may be the one who sets the password.
 */
export async function beginReset(room: PeopleRoom, token: string): Promise<PersonRecord | undefined> {
  const { store, clock } = room;
  const link = await store.people.link(digestOf(token));
  if (link?.kind !== "reset" || link.email === null) return undefined;
  const person = await store.people.personByEmail(link.email);
  const maker = await makerOf(room, link);
  const isOpen = link.revokedAtMs === null && link.usedAtMs === null && link.expiresAtMs > clock.nowMs();
  // A new password, set in another way, has ended what the library keeps of it.
  const isKept = await store.people.isResetKept(keptReset(`${RESET_PREFIX}${token}`), clock.nowMs());
  const isRight = person !== undefined && isOpen && isKept;
  if (isRight && maker === "operator") return person;
  if (!isRight || maker === "nobody" || link.seat === null || isMore(room, person, link.seat))
    throw fault("invalid_value", { message: "This link is not good any more. Ask for a new one.", param: "token" });
  // Before the library writes the password: whatever breaks off then, the address counts as unproven.
  await store.change(async ({ people }) => ({
    answer: await people.setUnproven(person.id, clock.nowMs()),
    audit: null,
  }));
  return person;
}

/**
 * The library has used the token up: what an admin knows of it says so, too. Whatever was said of the address meanwhile,
 * it counts as unproven.
 */
export async function spendReset(room: PeopleRoom, token: string): Promise<void> {
  const { store, clock } = room;
  const link = await store.people.link(digestOf(token));
  if (link?.kind !== "reset" || link.email === null) return;
  const person = await store.people.personByEmail(link.email);
  const isDoubtful = (await makerOf(room, link)) !== "operator";
  await store.change(async ({ people }) => {
    if (isDoubtful && person !== undefined) await people.setUnproven(person.id, clock.nowMs());
    return { answer: await people.useLink(link.id, clock.nowMs()), audit: null };
  });
}

async function makeReset(
  room: PeopleRoom,
  exchange: Exchange,
  person: PersonRecord,
  seat: PersonLink["seat"],
): Promise<Reply> {
  demandFresh(room, exchange);
  const { clock, makeToken, library, ids } = room;
  const [token, now] = [makeToken(), clock.nowMs()];
  const expiresAtMs = now + RESET_MS;
  const opened = await library.plain();
  const madeBy = await makerName(room);
  await change(room, async ({ people }) => {
    const { email } = person;
    await people.addLink({
      id: ids.next("lnk_"),
      kind: "reset",
      digest: digestOf(token),
      email,
      seat,
      madeBy,
      createdAtMs: now,
      expiresAtMs,
      usedAtMs: null,
      revokedAtMs: null,
    });
    const audit = { action: "person.reset_link", workspaceId: seat?.workspaceId ?? null, target: person.id };
    return { answer: null, audit: { ...audit, detail: { email } } };
  });
  await opened.addReset(person.id, token, new Date(expiresAtMs));
  const link = `${baseOf(room)}/app/reset-password?token=${token}`;
  return { status: 201, json: { link, expires_at: isoTime(expiresAtMs) } };
}
