import { type Fault, fault } from "../../contract/faults.ts";
import { isAtLeast } from "../../domain/tenancy/actor.ts";
import type { AccountLink, NewPerson } from "../../domain/tenancy/person.ts";
import type { Member, Role, Workspace } from "../../domain/tenancy/workspace.ts";
import type { Writers } from "../../io/store/sql/store.ts";
import { HashingBusyError } from "../../kit/password-hasher.ts";
import { sha256Hex } from "../../kit/secret.ts";
import type { Exchange } from "../exchange.ts";
import { makerOf } from "./account-links.ts";
import { tooBusy } from "./auth-errors.ts";
import { passwordFault } from "./password-policy.ts";
import type { PeopleRoom } from "./room.ts";

export type NewAccount = { readonly email: string; readonly name: string; readonly password: string };
type Seat = { readonly workspace: Workspace; readonly role: Role };

/** How an account came to be, for the audit log. */
type Made = {
  readonly link: AccountLink;
  readonly operator: boolean;
  /** Nobody but who reads the address had the link. */
  readonly proven: boolean;
  /** Where they are a member from now on. */
  readonly seat: Seat | undefined;
  readonly action: string;
  /** Throws when it may not be; asked once more when nothing else is changed meanwhile. */
  demand(): Promise<void>;
};

/**
 * The only place that makes people, but for single sign-on: through a link. `made.proven` says whether the link proves
 * the address. Link, person, membership, session and the line about it are written together. Answers the cookie of the
 * session, and the membership.
 */
export async function makeAccount(
  room: PeopleRoom,
  exchange: Exchange,
  account: NewAccount,
  made: Made,
): Promise<{ readonly cookie: string; readonly joined: Member | undefined }> {
  const email = account.email.trim().toLowerCase();
  const weak = passwordFault(account.password, "password", [email, account.name]);
  if (weak !== undefined) throw weak;
  const passwordHash = await room.hasher.hash(account.password).catch(busy);
  const { ids, clock, sessions } = room;
  const now = clock.nowMs();
  const person: NewPerson = {
    id: ids.next("per_"),
    email,
    name: account.name,
    operator: made.operator,
    emailVerified: made.proven,
    passwordHash,
    createdAtMs: now,
  };
  const { session, token } = sessions.begin(person, exchange);
  const joined = await room.mutationLock(async () => {
    await made.demand();
    if ((await room.store.people.personByEmail(email)) !== undefined) throw taken(email);
    const member = made.seat === undefined ? undefined : joining(room, made.seat, email, now);
    await room.store.change(async (writers) => {
      await spend(writers, made.link, now);
      await writers.people.addPerson(person);
      if (member !== undefined) await writers.tenancy.saveMember(member);
      await writers.people.addSession(session);
      const detail = { email, operator: made.operator, address: exchange.clientAddress, ...roleDetail(member) };
      const line = { id: ids.next("aud_"), atMs: now, actor: email, action: made.action, target: person.id };
      return { answer: null, audit: { ...line, workspaceId: made.seat?.workspace.id ?? null, detail } };
    });
    if (member !== undefined) room.directory.putMember(member);
    return member;
  });
  return { cookie: await sessions.cookie(token), joined };
}

/** Somebody who has an account takes a seat that waited for their address. Answers the membership. */
export async function takeSeat(
  room: PeopleRoom,
  exchange: Exchange,
  { link, seat, email, demand }: { link: AccountLink; seat: Seat; email: string; demand: () => Promise<void> },
) {
  const { ids, clock } = room;
  const now = clock.nowMs();
  return room.mutationLock(async () => {
    await demand();
    if ((await makerOf(room, link)) === "nobody") throw noLink();
    const joined = joining(room, seat, email, now);
    await room.store.change(async (writers) => {
      await spend(writers, link, now);
      await writers.tenancy.saveMember(joined);
      const detail = { email, address: exchange.clientAddress, ...roleDetail(joined) };
      const line = { id: ids.next("aud_"), atMs: now, actor: email, action: "invitation.accept", target: link.id };
      return { answer: null, audit: { ...line, workspaceId: seat.workspace.id, detail } };
    });
    room.directory.putMember(joined);
    return joined;
  });
}

/** The membership they get: a new one, the one they were offered with the role of the link, or theirs as it is. */
function joining(room: PeopleRoom, { workspace, role }: Seat, email: string, createdAtMs: number): Member {
  const { directory, ids } = room;
  const workspaceId = workspace.id;
  const found = directory.members(workspaceId).find((member) => member.email === email);
  if (found === undefined) return { id: ids.next("mem_"), workspaceId, email, role, createdAtMs, pending: false };
  if (!found.pending) return found;
  if (isAtLeast(role, found.role)) return { ...found, role, pending: false };
  throw fault("not_allowed", {
    message: `${email} was offered more in ${workspace.slug} than this invitation gives. Ask for a new one.`,
  });
}

const roleDetail = (member: Member | undefined) => (member === undefined ? {} : { role: member.role });

/** Throws when another call was faster: a link is good once. */
async function spend(writers: Writers, link: AccountLink, nowMs: number): Promise<void> {
  if (!(await writers.people.consumeLink(link.id, nowMs))) throw noLink();
}

/** The link behind a token, while it is good. */
export async function goodLink(
  room: PeopleRoom,
  kind: AccountLink["kind"],
  token: string,
): Promise<AccountLink | undefined> {
  const link = await room.store.people.findLink(sha256Hex(token));
  const isGood =
    link?.kind === kind && link.usedAtMs === null && link.revokedAtMs === null && link.expiresAtMs > room.clock.nowMs();
  return isGood ? link : undefined;
}

export function noLink(): Fault {
  return fault("not_found", { message: "This link is not good any more, or never was. Ask for a new one." });
}

function taken(email: string): Fault {
  return fault("conflict", { message: `There is an account for ${email} already. Sign in instead.`, param: "email" });
}

function busy(error: unknown): never {
  throw error instanceof HashingBusyError ? tooBusy() : error;
}
