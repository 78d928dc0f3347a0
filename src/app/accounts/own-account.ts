import { fault } from "../../contract/faults.ts";
import { MeChange } from "../../contract/schemas/people.ts";
import type { Person } from "../../domain/tenancy/actor.ts";
import type { PeopleWriter, PersonSession, PersonSummary, SessionWithPerson } from "../../domain/tenancy/person.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { mutation } from "../manage/caller-scope.ts";
import { commitWithAudit } from "../manage/deps.ts";
import { isFresh, requireFreshSession } from "../manage/fresh-sign-in.ts";
import { hasCreatedWorkspace } from "../manage/tenancy/workspaces.ts";
import { isoTime } from "../manage/views.ts";
import { printable } from "../printable.ts";
import { readBody } from "../request-input.ts";
import type { AccountsContext } from "./accounts-context.ts";
import { SIGN_IN_AGAIN } from "./auth-errors.ts";
import { membershipsOf } from "./memberships.ts";
import { isSetupNeeded } from "./setup-link.ts";

export function meHandlers(context: AccountsContext): Record<string, Handler> {
  return { peopleMe: buffered((exchange) => showMe(context, exchange)) };
}

async function showMe(context: AccountsContext, exchange: Exchange): Promise<HttpResponse> {
  const found = await context.sessions.find(exchange.headers);
  const person = found === undefined ? undefined : await context.store.people.summary(found.signedIn.person.id);
  // The portal's sign-in page makes this call, and a sign-in follows: load the library meanwhile.
  if (found === undefined) context.authLibrary.preload();
  const cookies = found === undefined ? [] : await context.sessions.renew(found);
  const signIn = {
    password: true,
    passkey: true,
    oidc: context.oidc === null ? null : { name: context.oidc.name },
    signup: context.signUp,
    setup_needed: await isSetupNeeded(context),
    mail: context.mail !== null,
  };
  const memberships = person === undefined ? [] : membershipsOf(context, person.email);
  const json = {
    person: found === undefined || person === undefined ? null : personView(context, person, found.signedIn),
    workspaces: memberships.map(({ workspace: { id, slug, name, currency }, role }) => ({
      id,
      slug,
      name,
      currency,
      role,
    })),
    may_create_workspace: person !== undefined && (await mayCreateWorkspace(context, person)),
    sign_in: signIn,
  };
  return { status: 200, json, cookies, headers: { "cache-control": "no-store" } };
}

async function mayCreateWorkspace(
  { signUp, store }: AccountsContext,
  { operator, email }: PersonSummary,
): Promise<boolean> {
  return operator || (signUp === "open" && !(await hasCreatedWorkspace(store, email)));
}

function personView(context: AccountsContext, person: PersonSummary, { session }: SessionWithPerson) {
  const { id, email, name, operator, twoFactor, passkeys, hasPassword } = person;
  return {
    id,
    email,
    name,
    operator,
    two_factor: twoFactor,
    passkeys,
    has_password: hasPassword,
    session: {
      id: session.id,
      created_at: isoTime(session.createdAtMs),
      fresh: isFresh(context, session.createdAtMs),
    },
  };
}

/** What a signed-in person changes of their own account. */
export function ownAccountHandlers(context: AccountsContext): Record<string, Handler> {
  const { store, clock } = context;
  return {
    peopleChangeMe: mutation(context, async (exchange, scope) => {
      const person = requirePerson(exchange);
      const { userId } = person;
      const { name } = await readBody(exchange, MeChange);
      await commitWithAudit(scope, async ({ people }) => {
        await requireSession(people, person);
        await people.rename(userId, name, clock.nowMs());
        return { answer: null, audit: accountAudit("person.rename", userId, { name }) };
      });
      return showMe(context, exchange);
    }),
    peopleListSessions: buffered(async (exchange) => {
      const { userId, sessionId } = requirePerson(exchange);
      const sessions = await store.people.sessions(userId, clock.nowMs());
      return { status: 200, json: { data: sessions.map((session) => sessionView(session, sessionId)), next: null } };
    }),
    peopleEndOtherSessions: mutation(context, async (exchange, scope) => {
      const person = requirePerson(exchange);
      const { userId, sessionId } = person;
      const ended = await commitWithAudit(scope, async ({ people }) => {
        await requireSession(people, person);
        const { sessions, codes } = await people.startedAfter(userId, sessionId, clock.nowMs());
        if (sessions.length + codes.length > 0) requireFreshSession(context, person.signedInAtMs);
        const count = await people.endOtherSessions(userId, sessionId);
        return { answer: count, audit: accountAudit("person.end_sessions", userId, { ended: count }) };
      });
      return { status: 200, json: { ended } };
    }),
    peopleEndSession: mutation(context, async (exchange, scope) => {
      const person = requirePerson(exchange);
      const { userId, sessionId } = person;
      const id = exchange.params["id"] ?? "";
      await commitWithAudit(scope, async ({ people }) => {
        await requireSession(people, person);
        const { sessions, codes } = await people.startedAfter(userId, sessionId, clock.nowMs());
        // A stolen session must not keep ending its owner's newer sessions. Ending any session also ends pending
        // second-factor challenges, so a newer challenge needs a fresh sign-in as well.
        if (sessions.includes(id) || (codes.length > 0 && id !== sessionId))
          requireFreshSession(context, person.signedInAtMs);
        if (!(await people.endSession(userId, id)))
          throw fault("not_found", { message: `You have no session "${printable(id)}".` });
        return { answer: null, audit: accountAudit("person.end_session", userId, { session: id }) };
      });
      return { status: 200, json: { id, ended: true } };
    }),
    peopleListPasskeys: buffered(async (exchange) => {
      const passkeys = await store.people.passkeys(requirePerson(exchange).userId);
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

const accountAudit = (action: string, target: string, detail: Readonly<Record<string, unknown>>) => ({
  action,
  workspaceId: null,
  target,
  detail,
});

/** The session may have ended after the request was authenticated. */
async function requireSession(people: PeopleWriter, { userId, sessionId }: Person): Promise<void> {
  if (!(await people.lockSession(userId, sessionId))) throw fault("not_signed_in", { message: SIGN_IN_AGAIN });
}

/** Management tokens have no account. */
function requirePerson({ actor }: Exchange): Person {
  if (actor?.is === "person") return actor.person;
  throw fault("not_allowed", {
    message: "This request requires the session of a user. Sign in to the portal, or run `gateway login`.",
  });
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
