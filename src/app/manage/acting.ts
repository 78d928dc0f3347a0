import { AsyncLocalStorage } from "node:async_hooks";
import { type Actor, auditNameOf, type Membership } from "../../domain/tenancy/actor.ts";

/** Who makes a call, and the seat they began it with. */
export type Caller = { readonly actor: Actor; readonly seat: Membership | undefined };

/**
 * By whom a change is made. Every change writes a line of the audit log in their name, however deep below its handler it
 * is made, and is asked in its turn whether it is still theirs to make; the caller goes along with the call instead of
 * through every function on the way.
 */
const acting = new AsyncLocalStorage<Caller>();

export function actingAs<T>(caller: Caller, work: () => T): T {
  return acting.run(caller, work);
}

/** Undefined where nobody calls: the first start, work on a schedule, what is proven in another way than by a session. */
export function caller(): Caller | undefined {
  return acting.getStore();
}

/** The operator, where nobody else was named. */
export function actorName(): string {
  const found = caller();
  return found === undefined ? "operator" : auditNameOf(found.actor);
}
