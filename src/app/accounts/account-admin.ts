import { fault, invalidValue } from "../../contract/faults.ts";
import { DisabledBody, OperatorBody, PeopleQuery } from "../../contract/schemas/people.ts";
import { isErased, type PeopleWriter, type PersonRecord, type PersonSummary } from "../../domain/tenancy/person.ts";
import type { Member } from "../../domain/tenancy/workspace.ts";
import { type Exchange, type Handler, type Reply, whole } from "../exchange.ts";
import { actorName } from "../manage/acting.ts";
import { commitWithAudit } from "../manage/deps.ts";
import { requireFreshSignIn } from "../manage/fresh-sign-in.ts";
import { removeToken } from "../manage/tenancy/tokens.ts";
import { isoTime } from "../manage/views.ts";
import { short } from "../printable.ts";
import { readBody, readQuery } from "../request-input.ts";
import { seatsOf } from "./me.ts";
import type { PeopleRoom } from "./room.ts";
import { isSetupNeeded, makeSetupLink } from "./setup-link.ts";

/** What the operator does with people. */
export function peopleHandlers(room: PeopleRoom): Record<string, Handler> {
  const { store, clock } = room;
  return {
    peopleList: whole(async (exchange) => {
      const { limit, cursor } = readQuery(exchange, PeopleQuery);
      // The list would begin anew, and never come to an end.
      if (cursor !== undefined && (await store.people.person(cursor)) === undefined)
        throw invalidValue("cursor", "send `next` of the page before");
      const { rows, next } = await store.people.list(limit, cursor ?? null);
      return { status: 200, json: { data: rows.map((person) => personView(room, person)), next } };
    }),
    peopleSetOperator: whole(async (exchange) => {
      const { operator } = await readBody(exchange, OperatorBody);
      return changed(room, exchange, {
        action: operator ? "person.operator_on" : "person.operator_off",
        demand: (person) => (operator ? demandReturn(room, exchange, person) : demandLeave(room, exchange, person)),
        write: (people, { id }) => people.setOperator(id, operator, clock.nowMs()),
        stays: (seat) => operator || seat?.role === "owner",
      });
    }),
    peopleSetDisabled: whole(async (exchange) => {
      const { disabled } = await readBody(exchange, DisabledBody);
      return changed(room, exchange, {
        action: disabled ? "person.disable" : "person.enable",
        demand: (person) => (disabled ? demandLeave(room, exchange, person) : demandReturn(room, exchange, person)),
        write: (people, { id }) => people.setDisabled(id, disabled, clock.nowMs()),
        stays: () => !disabled,
      });
    }),
    peopleDropSecondFactor: whole((exchange) =>
      changed(room, exchange, {
        action: "person.second_factor_drop",
        async demand({ id, twoFactor, email }) {
          refuseOwn(exchange, id);
          if (!twoFactor) throw fault("conflict", { message: `${email} has no second factor.` });
          requireFreshSignIn(room, exchange);
        },
        write: (people, { id }) => people.dropSecondFactor(id, clock.nowMs()),
        stays: () => true,
      }),
    ),
    peopleEndAllSessions: whole(async (exchange) => {
      const { id, email } = await findPerson(room, exchange);
      if (isOwn(exchange, id)) requireFreshSignIn(room, exchange);
      const ended = await commitWithAudit(room, async ({ people }) => {
        const answer = await people.endSessions(id);
        const audit = {
          action: "person.end_sessions",
          workspaceId: null,
          target: id,
          detail: { email, ended: answer },
        };
        return { answer, audit };
      });
      return { status: 200, json: { ended } };
    }),
    peopleMakeSetupLink: whole(async () => {
      if (!(await isSetupNeeded(room)))
        throw fault("conflict", {
          message: "Somebody runs this gateway already: a set-up link is for the first person. Invite others.",
        });
      const { link, expiresAtMs } = await makeSetupLink(room, actorName());
      return { status: 201, json: { link, expires_at: isoTime(expiresAtMs) } };
    }),
  };
}

type PersonChange = {
  readonly action: string;
  /** Throws when it may not be. Asked before the change: inside, the store waits for it to end. */
  demand(person: PersonSummary): Promise<void>;
  write(people: PeopleWriter, person: PersonSummary): Promise<unknown>;
  /** Whether management tokens that they made stay in a workspace, by their seat there. */
  stays(seat: Member | undefined): boolean;
};

async function changed(room: PeopleRoom, exchange: Exchange, said: PersonChange): Promise<Reply> {
  const { action, demand, write, stays } = said;
  return room.mutationLock(async () => {
    const person = await findPerson(room, exchange);
    await demand(person);
    // Before it: when this breaks off, the account is as it was, and the same again ends the rest. New ones wait for
    // their turn. Each is a change of its workspace, which every instance hears of.
    for (const token of room.directory.tokens.createdBy(person.email)) {
      const seat = room.directory.activeMember(token.workspaceId, person.email);
      if (!stays(seat)) await removeToken(room, token, { of: person.email });
    }
    await commitWithAudit(room, async ({ people }) => {
      await write(people, person);
      const detail = { email: person.email };
      return { answer: null, audit: { action, workspaceId: null, target: person.id, detail } };
    });
    return { status: 200, json: personView(room, await findPerson(room, exchange)) };
  });
}

export async function findPerson({ store }: PeopleRoom, { params }: Exchange): Promise<PersonSummary> {
  const id = params["id"] ?? "";
  const person = await store.people.summary(id);
  if (person !== undefined) return person;
  throw fault("not_found", {
    message: `There is nobody with the id "${short(id)}": take one of the list (gateway person list).`,
  });
}

/**
 * What signs oneself in is changed by steps that ask for the password or a sign-in that is not long ago: whoever holds a
 * session must not get around them.
 */
export function refuseOwn(exchange: Exchange, personId: string): void {
  if (!isOwn(exchange, personId)) return;
  throw fault("not_allowed", {
    message: "This is your own account: change it under Account in the portal, or let somebody else do this for you.",
  });
}

const isOwn = ({ actor }: Exchange, personId: string) => actor?.is === "person" && actor.person.userId === personId;

/** Nobody stands behind an account that was erased. */
export function refuseErased(person: PersonRecord): void {
  if (!isErased(person)) return;
  throw fault("conflict", { message: "This account was erased for good. Whoever had it is invited anew." });
}

async function demandReturn(room: PeopleRoom, exchange: Exchange, person: PersonSummary): Promise<void> {
  refuseErased(person);
  requireFreshSignIn(room, exchange);
}

/** A session that was stolen must not shut out its owner: others are shut out without a fresh sign-in. */
async function demandLeave(room: PeopleRoom, exchange: Exchange, person: PersonSummary): Promise<void> {
  await demandAnotherOperator(room, person);
  if (isOwn(exchange, person.id)) requireFreshSignIn(room, exchange);
}

/** Without an operator who can sign in, nobody could make another. */
export async function demandAnotherOperator({ store }: PeopleRoom, person: PersonSummary): Promise<void> {
  if (!person.operator || person.disabled || (await store.people.countOperators()) > 1) return;
  throw fault("conflict", { message: `${person.email} is the only operator. Make someone else operator first.` });
}

export function personView(room: PeopleRoom, person: PersonSummary) {
  const { id, email, name, operator, disabled, twoFactor, passkeys, createdAtMs, lastSeenAtMs } = person;
  return {
    id,
    email,
    name,
    operator,
    disabled,
    erased: isErased(person),
    two_factor: twoFactor,
    passkeys,
    created_at: isoTime(createdAtMs),
    last_seen_at: lastSeenAtMs === null ? null : isoTime(lastSeenAtMs),
    workspaces: seatsOf(room, email).map(({ workspace, role }) => ({ slug: workspace.slug, role })),
  };
}
