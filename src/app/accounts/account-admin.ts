import { fault, invalidValue } from "../../contract/faults.ts";
import { DisabledBody, OperatorBody, PeopleQuery } from "../../contract/schemas/people.ts";
import { isErased, type PeopleWriter, type PersonRecord, type PersonSummary } from "../../domain/tenancy/person.ts";
import type { Member } from "../../domain/tenancy/workspace.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { mutation } from "../manage/caller-scope.ts";
import { commitWithAudit } from "../manage/deps.ts";
import { requireFreshSignIn } from "../manage/fresh-sign-in.ts";
import { removeMember, requireRemovable } from "../manage/tenancy/members.ts";
import { removeToken } from "../manage/tenancy/tokens.ts";
import { isoTime } from "../manage/views.ts";
import { printable } from "../printable.ts";
import { readBody, readQuery } from "../request-input.ts";
import type { AccountsContext, AccountsScope } from "./accounts-context.ts";
import { membershipsOf } from "./memberships.ts";
import { createSetupLink, isSetupNeeded } from "./setup-link.ts";

/** How the operator manages accounts. */
export function accountAdminHandlers(context: AccountsContext): Record<string, Handler> {
  const { store, clock } = context;
  return {
    peopleList: buffered(async (exchange) => {
      const { limit, cursor } = readQuery(exchange, PeopleQuery);
      // An unknown cursor would restart the list, and a client that follows `next` would never finish.
      if (cursor !== undefined && (await store.people.person(cursor)) === undefined)
        throw invalidValue("cursor", "must be `next` of the previous page");
      const { rows, next } = await store.people.list(limit, cursor ?? null);
      return { status: 200, json: { data: rows.map((person) => personView(context, person)), next } };
    }),
    peopleSetOperator: mutation(context, async (exchange, scope) => {
      const { operator } = await readBody(exchange, OperatorBody);
      return changePerson(scope, exchange, {
        action: operator ? "person.operator_on" : "person.operator_off",
        authorize: (person) =>
          operator ? authorizeGrant(scope, exchange, person) : authorizeRemoval(scope, exchange, person),
        write: (people, { id }) => people.setOperator(id, operator, clock.nowMs()),
        keepsTokens: (member) => operator || member?.role === "owner",
      });
    }),
    peopleSetDisabled: mutation(context, async (exchange, scope) => {
      const { disabled } = await readBody(exchange, DisabledBody);
      return changePerson(scope, exchange, {
        action: disabled ? "person.disable" : "person.enable",
        authorize: (person) =>
          disabled ? authorizeRemoval(scope, exchange, person) : authorizeGrant(scope, exchange, person),
        write: (people, { id }) => people.setDisabled(id, disabled, clock.nowMs()),
        keepsTokens: () => !disabled,
      });
    }),
    peopleDropSecondFactor: mutation(context, (exchange, scope) =>
      changePerson(scope, exchange, {
        action: "person.second_factor_drop",
        async authorize({ id, twoFactor, email }) {
          rejectOwnAccount(exchange, id);
          if (!twoFactor) throw fault("conflict", { message: `${email} has no second factor.` });
          requireFreshSignIn(scope, exchange);
        },
        write: (people, { id }) => people.dropSecondFactor(id, clock.nowMs()),
        keepsTokens: () => true,
      }),
    ),
    peopleEndAllSessions: mutation(context, async (exchange, scope) => {
      const { id, email } = await findPerson(context, exchange);
      if (isOwnAccount(exchange, id)) requireFreshSignIn(scope, exchange);
      const ended = await commitWithAudit(scope, async ({ people }) => {
        const count = await people.endSessions(id);
        const detail = { email, ended: count };
        return { answer: count, audit: { action: "person.end_sessions", workspaceId: null, target: id, detail } };
      });
      return { status: 200, json: { ended } };
    }),
    peopleMakeSetupLink: mutation(context, async (_exchange, scope) => {
      if (!(await isSetupNeeded(context)))
        throw fault("conflict", {
          message:
            "This gateway already has an operator: a set-up link is only for the first account. Invite other users.",
        });
      const { link, expiresAtMs } = await createSetupLink(scope);
      return { status: 201, json: { link, expires_at: isoTime(expiresAtMs) } };
    }),
    peopleErase: mutation(context, (exchange, scope) =>
      scope.serialized(async () => {
        const person = await findPerson(scope, exchange);
        const members = allMembersOf(scope, person);
        await authorizeErasure(scope, exchange, person, members);
        await erasePerson(scope, person, members);
        return { status: 200, json: personView(scope, await findPerson(scope, exchange)) };
      }),
    ),
  };
}

type PersonChange = {
  readonly action: string;
  /** Throws when the change is not allowed. Runs before the transaction, because the store is blocked inside it. */
  authorize(person: PersonSummary): Promise<void>;
  write(people: PeopleWriter, person: PersonSummary): Promise<unknown>;
  /** Whether the person's management tokens of a workspace stay valid, by their membership there. */
  keepsTokens(member: Member | undefined): boolean;
};

async function changePerson(scope: AccountsScope, exchange: Exchange, change: PersonChange): Promise<HttpResponse> {
  const { action, authorize, write, keepsTokens } = change;
  return scope.serialized(async () => {
    const person = await findPerson(scope, exchange);
    await authorize(person);
    // Tokens are removed first: if this fails midway, the account is unchanged and the call can be repeated. Each removal
    // is its own transaction, because it changes a workspace and must be replicated as such.
    for (const token of scope.directory.tokens.createdBy(person.email)) {
      const member = scope.directory.activeMember(token.workspaceId, person.email);
      if (!keepsTokens(member)) await removeToken(scope, token, { of: person.email });
    }
    await commitWithAudit(scope, async ({ people }) => {
      await write(people, person);
      const detail = { email: person.email };
      return { answer: null, audit: { action, workspaceId: null, target: person.id, detail } };
    });
    return { status: 200, json: personView(scope, await findPerson(scope, exchange)) };
  });
}

export async function findPerson({ store }: AccountsContext, { params }: Exchange): Promise<PersonSummary> {
  const id = params["id"] ?? "";
  const person = await store.people.summary(id);
  if (person !== undefined) return person;
  throw fault("not_found", {
    message: `There is no account with the id "${printable(id)}". \`gateway person list\` lists all accounts.`,
  });
}

/** A person changes their own credentials only through the steps that ask for the password or a fresh sign-in. */
export function rejectOwnAccount(exchange: Exchange, personId: string): void {
  if (!isOwnAccount(exchange, personId)) return;
  throw fault("not_allowed", {
    message: "This is your own account: change it under Account in the portal, or ask another operator to do this.",
  });
}

const isOwnAccount = ({ actor }: Exchange, personId: string) =>
  actor?.is === "person" && actor.person.userId === personId;

export function rejectErased(person: PersonRecord): void {
  if (!isErased(person)) return;
  throw fault("conflict", { message: "This account was permanently erased. Invite the user again." });
}

async function authorizeGrant(scope: AccountsScope, exchange: Exchange, person: PersonSummary): Promise<void> {
  rejectErased(person);
  requireFreshSignIn(scope, exchange);
}

/** Removing access needs no fresh sign-in, except from oneself: a stolen session must not lock out its owner. */
async function authorizeRemoval(scope: AccountsScope, exchange: Exchange, person: PersonSummary): Promise<void> {
  await requireAnotherOperator(scope, person);
  if (isOwnAccount(exchange, person.id)) requireFreshSignIn(scope, exchange);
}

/** Only an operator can appoint another one, so the last active operator stays. */
async function requireAnotherOperator({ store }: AccountsContext, person: PersonSummary): Promise<void> {
  if (!person.operator || person.disabled || (await store.people.countOperators()) > 1) return;
  throw fault("conflict", { message: `${person.email} is the only operator. Make another account operator first.` });
}

const allMembersOf = ({ directory }: AccountsContext, person: PersonSummary): Member[] =>
  directory
    .workspaces()
    .flatMap(({ id }) => directory.members(id))
    .filter(({ email }) => email === person.email);

/** All checks come before the first change. */
async function authorizeErasure(
  scope: AccountsScope,
  exchange: Exchange,
  person: PersonSummary,
  members: readonly Member[],
): Promise<void> {
  rejectOwnAccount(exchange, person.id);
  await requireAnotherOperator(scope, person);
  for (const member of members) requireRemovable(scope, member);
  requireFreshSignIn(scope, exchange);
}

/**
 * Removes all personal data; the id stays, so that references to it resolve. The account is disabled first and loses its
 * address last: after a failure midway sign-in is impossible, the rest is still found by the address, and a repeated call
 * completes the erasure. Each step is its own transaction, because each is replicated to the other instances.
 */
async function erasePerson(scope: AccountsScope, person: PersonSummary, members: readonly Member[]): Promise<void> {
  const { store, directory, clock, cacheReloader } = scope;
  const { id, email } = person;
  const erasure = (workspaceId: string | null) => ({ action: "person.erase", workspaceId, target: id });
  if (!person.disabled)
    await commitWithAudit(scope, async ({ people }) => {
      await people.setDisabled(id, true, clock.nowMs());
      return { answer: null, audit: { action: "person.disable", workspaceId: null, target: id, detail: { email } } };
    });
  for (const member of members) await removeMember(scope, member);
  for (const token of directory.tokens.createdBy(email)) await removeToken(scope, token, { of: email });
  for (const workspaceId of await store.people.workspacesReferencing(email)) {
    await commitWithAudit(scope, async ({ people }) => ({
      answer: await people.eraseReferences(workspaceId, person),
      audit: erasure(workspaceId),
    }));
    await cacheReloader.reloadWorkspace(workspaceId);
  }
  await commitWithAudit(scope, async ({ people }) => ({
    answer: await people.erase(person, clock.nowMs()),
    audit: erasure(null),
  }));
}

function personView(context: AccountsContext, person: PersonSummary) {
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
    workspaces: membershipsOf(context, email).map(({ workspace, role }) => ({ slug: workspace.slug, role })),
  };
}
