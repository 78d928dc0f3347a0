import type { Kysely } from "kysely";
import type { Database } from "./schema.ts";

/** Joins the open transaction, or starts one. */
export function inTransaction<T>(db: Kysely<Database>, work: (session: Kysely<Database>) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}
