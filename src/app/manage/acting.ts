import { AsyncLocalStorage } from "node:async_hooks";

/**
 * In whose name a change is made. Every change writes a line of the audit log, however deep below its handler it is
 * made; the name goes along with the call instead of through every function on the way. Nobody decides anything by it.
 */
const acting = new AsyncLocalStorage<string>();

export function actingAs<T>(name: string, work: () => T): T {
  return acting.run(name, work);
}

/** The operator, where nobody else was named: the first start, work on a schedule. */
export function actorName(): string {
  return acting.getStore() ?? "operator";
}
