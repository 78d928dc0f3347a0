import type { Kysely } from "kysely";
import type { Database } from "./schema.ts";

/** In the transaction that is open already, or in one of its own. */
export function inTransaction<T>(db: Kysely<Database>, work: (session: Kysely<Database>) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}
