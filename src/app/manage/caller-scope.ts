import { fault } from "../../contract/faults.ts";
import { type Actor, auditNameOf, type Membership } from "../../domain/tenancy/actor.ts";
import type { Directory } from "../../domain/tenancy/directory.ts";
import type { PeopleStore } from "../../domain/tenancy/person.ts";
import type { Clock } from "../../kit/clock.ts";
import { buffered, type Exchange, type Handler, type HttpResponse } from "../exchange.ts";
import { isMembershipUnchanged } from "./membership.ts";
import type { MutationLock, Serialize } from "./mutation-lock.ts";

/** An authenticated actor, and the membership that its request was authorized with. */
export type Caller = { readonly actor: Actor; readonly membership: Membership | undefined };

/** What a handler's dependencies carry about its caller. */
export type CallerScope = {
  readonly caller: Caller;
  /** The actor of the audit entries that this request writes. */
  readonly auditActor: string;
  /** The mutation lock; the caller is authorized again once it is held. */
  readonly serialized: Serialize;
};

/** The audit actor of changes that no request asked for: the first start and scheduled work. */
export const OPERATOR_ACTOR = "operator";

type CallerScopeDeps = {
  readonly directory: Directory;
  readonly clock: Clock;
  readonly store: { readonly people: Pick<PeopleStore, "person" | "sessions"> };
  readonly mutationLock: MutationLock;
};

/** A handler of a guarded route that changes something: it gets its dependencies bound to the caller. */
export function mutation<Deps extends CallerScopeDeps>(
  deps: Deps,
  handle: (exchange: Exchange, scope: Deps & CallerScope) => Promise<HttpResponse>,
): Handler {
  return buffered((exchange) => handle(exchange, { ...deps, ...callerScope(deps, exchange) }));
}

function callerScope(
  deps: CallerScopeDeps,
  { actor, membership }: Pick<Exchange, "actor" | "membership">,
): CallerScope {
  if (actor === undefined) throw new Error("a change without an actor");
  const caller: Caller = { actor, membership };
  return {
    caller,
    auditActor: auditNameOf(actor),
    serialized: (change) =>
      deps.mutationLock.run(async () => {
        await requireCallerUnchanged(deps, caller);
        return change();
      }),
  };
}

/** A change that waited ahead of this one may have revoked the caller's membership, account, session or token. */
async function requireCallerUnchanged(
  { directory, clock, store }: CallerScopeDeps,
  { actor, membership }: Caller,
): Promise<void> {
  switch (actor.is) {
    case "operator":
      return;
    case "token":
      // A token is removed together with the authority of the member who created it.
      if (directory.tokens.findValid(actor.token.digest, clock.nowMs()) !== undefined) return;
      throw fault("invalid_admin_token", {
        message: "This management token was revoked while the request was waiting.",
      });
    case "person": {
      const { userId, sessionId, operator } = actor.person;
      const person = await store.people.person(userId);
      const isSame = person !== undefined && !person.disabled && person.operator === operator;
      if (!isSame || (membership !== undefined && !isMembershipUnchanged({ directory }, actor, membership)))
        throw fault("insufficient_role", {
          message: "Your permissions changed while the request was waiting. Reload the page.",
        });
      // A credential reset gives the account to another person and ends its sessions.
      const sessions = await store.people.sessions(userId, clock.nowMs());
      if (sessions.some(({ id }) => id === sessionId)) return;
      throw fault("not_signed_in", { message: "Your session ended while the request was waiting. Sign in again." });
    }
  }
}
