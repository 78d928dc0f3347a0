import { fault } from "../../contract/faults.ts";
import { MeChange } from "../../contract/schemas/people.ts";
import type { Person } from "../../domain/tenancy/actor.ts";
import type { PeopleWriter, PersonSession } from "../../domain/tenancy/person.ts";
import { type Exchange, type Handler, whole } from "../exchange.ts";
import { commitWithAudit } from "../manage/deps.ts";
import { requireFreshSession } from "../manage/fresh-sign-in.ts";
import { isoTime } from "../manage/views.ts";
import { short } from "../printable.ts";
import { readBody } from "../request-input.ts";
import { SIGN_IN_AGAIN } from "./auth-errors.ts";
import { showMe } from "./me.ts";
import type { PeopleRoom } from "./room.ts";

/** What somebody who has signed in does with their own account. */
export function ownAccountHandlers(room: PeopleRoom): Record<string, Handler> {
  const { store, clock } = room;
  return {
    peopleChangeMe: whole(async (exchange) => {
      const person = personIn(exchange);
      const { userId } = person;
      const { name } = await readBody(exchange, MeChange);
      await commitWithAudit(room, async ({ people }) => {
        await demandSession(people, person);
        await people.rename(userId, name, clock.nowMs());
        return { answer: null, audit: about("person.rename", userId, { name }) };
      });
      return showMe(room, exchange);
    }),
    peopleListSessions: whole(async (exchange) => {
      const { userId, sessionId } = personIn(exchange);
      const sessions = await store.people.sessions(userId, clock.nowMs());
      return { status: 200, json: { data: sessions.map((one) => sessionView(one, sessionId)), next: null } };
    }),
    peopleEndOtherSessions: whole(async (exchange) => {
      const person = personIn(exchange);
      const { userId, sessionId } = person;
      const ended = await commitWithAudit(room, async ({ people }) => {
        await demandSession(people, person);
        const { sessions, codes } = await people.startedAfter(userId, sessionId, clock.nowMs());
        if (sessions.length + codes.length > 0) requireFreshSession(room, person.signedInAtMs);
        const answer = await people.endOtherSessions(userId, sessionId);
        return { answer, audit: about("person.end_sessions", userId, { ended: answer }) };
      });
      return { status: 200, json: { ended } };
    }),
    peopleEndSession: whole(async (exchange) => {
      const person = personIn(exchange);
      const { userId, sessionId } = person;
      const id = exchange.params["id"] ?? "";
      await commitWithAudit(room, async ({ people }) => {
        await demandSession(people, person);
        const { sessions, codes } = await people.startedAfter(userId, sessionId, clock.nowMs());
        // A session that was stolen must not end those that its owner begins after it, again and again, nor with each older
        // one a sign-in of theirs that waits for its code.
        if (sessions.includes(id) || (codes.length > 0 && id !== sessionId))
          requireFreshSession(room, person.signedInAtMs);
        if (!(await people.endSession(userId, id)))
          throw fault("not_found", { message: `You have no session "${short(id)}".` });
        return { answer: null, audit: about("person.end_session", userId, { session: id }) };
      });
      return { status: 200, json: { id, ended: true } };
    }),
    peopleListPasskeys: whole(async (exchange) => {
      const passkeys = await store.people.passkeys(personIn(exchange).userId);
      const data = passkeys.map(({ id, name, createdAtMs, backedUp }) => ({
        id,
        name,
        created_at: createdAtMs === null ? null : isoTime(createdAtMs),
        backed_up: backedUp,
      }));
      return { status: 200, json: { data, next: null } };
    }),
  };
}

const about = (action: string, target: string, detail: Readonly<Record<string, unknown>>) => ({
  action,
  workspaceId: null,
  target,
  detail,
});

/** Who has lost the account since the call came changes nothing of it. */
async function demandSession(people: PeopleWriter, { userId, sessionId }: Person): Promise<void> {
  if (!(await people.lockSession(userId, sessionId))) throw fault("not_signed_in", { message: SIGN_IN_AGAIN });
}

/** Tokens have no account of their own. */
function personIn({ actor }: Exchange): Person {
  if (actor?.is === "person") return actor.person;
  throw fault("not_allowed", { message: "This is about the account of a person. Sign in, or use `gateway login`." });
}

function sessionView(session: PersonSession, currentId: string) {
  return {
    id: session.id,
    created_at: isoTime(session.createdAtMs),
    last_seen_at: isoTime(session.lastSeenAtMs),
    expires_at: isoTime(session.expiresAtMs),
    address: session.address,
    user_agent: session.userAgent,
    current: session.id === currentId,
  };
}
