import type { PersonSummary, SessionWithPerson } from "../../domain/tenancy/person.ts";
import { type Exchange, type Handler, type Reply, whole } from "../exchange.ts";
import { isFresh } from "../manage/fresh-sign-in.ts";
import { hasCreatedWorkspace } from "../manage/tenancy/workspaces.ts";
import { isoTime } from "../manage/views.ts";
import type { PeopleRoom } from "./room.ts";
import { isSetupNeeded } from "./setup-link.ts";

/** The memberships of an address, without what it was only offered. */
export function seatsOf({ directory }: Pick<PeopleRoom, "directory">, email: string) {
  return directory.workspaces().flatMap((workspace) => {
    const member = directory.activeMember(workspace.id, email);
    return member === undefined ? [] : [{ workspace, role: member.role }];
  });
}

export async function showMe(room: PeopleRoom, exchange: Exchange): Promise<Reply> {
  const found = await room.sessions.find(exchange.headers);
  const listed = found === undefined ? undefined : await room.store.people.summary(found.held.person.id);
  // Whoever looks at the page of signing in is about to: what that needs is loaded meanwhile.
  if (found === undefined) room.library.warm();
  const cookies = found === undefined ? [] : await room.sessions.renewed(found);
  const signIn = {
    password: true,
    passkey: true,
    oidc: room.oidc === null ? null : { name: room.oidc.name },
    signup: room.signUp,
    setup_needed: await isSetupNeeded(room),
    mail: room.mail !== null,
  };
  const seats = listed === undefined ? [] : seatsOf(room, listed.email);
  const json = {
    person: found === undefined || listed === undefined ? null : personalView(room, listed, found.held),
    workspaces: seats.map(({ workspace: { id, slug, name, currency }, role }) => ({ id, slug, name, currency, role })),
    may_create_workspace: listed !== undefined && (await mayCreate(room, listed)),
    sign_in: signIn,
  };
  return { status: 200, json, cookies, headers: { "cache-control": "no-store" } };
}

async function mayCreate({ signUp, store }: PeopleRoom, { operator, email }: PersonSummary): Promise<boolean> {
  return operator || (signUp === "open" && !(await hasCreatedWorkspace(store, email)));
}

function personalView(room: PeopleRoom, person: PersonSummary, { session }: SessionWithPerson) {
  const { id, email, name, operator, twoFactor, passkeys, hasPassword } = person;
  return {
    id,
    email,
    name,
    operator,
    two_factor: twoFactor,
    passkeys,
    has_password: hasPassword,
    session: { id: session.id, created_at: isoTime(session.createdAtMs), fresh: isFresh(room, session.createdAtMs) },
  };
}

export function meHandlers(room: PeopleRoom): Record<string, Handler> {
  return { peopleMe: whole((exchange) => showMe(room, exchange)) };
}
