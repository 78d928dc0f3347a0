import { type Kysely, sql } from "kysely";
import type { Database } from "./schema.ts";

/** In `meta`, so that it is found at once however many people there are. */
const EPOCH_META_KEY = "people_epoch";

/** The newest of all epochs that have begun. */
export async function currentEpoch(db: Kysely<Database>): Promise<number> {
  const row = await db.selectFrom("meta").select("value").where("name", "=", EPOCH_META_KEY).executeTakeFirst();
  return Number(row?.value ?? 0);
}

/**
 * Until the transaction is over, calls of signing in write nothing for a person: they wait, and what they have written is
 * seen here. False: there is no such person, or they are in a later epoch than `asOf`.
 */
export async function lockPerson(db: Kysely<Database>, id: string, asOf?: number): Promise<boolean> {
  const theirs = db
    .updateTable("people")
    .set(({ ref }) => ({ epoch: ref("epoch") }))
    .where("id", "=", id);
  const { numUpdatedRows } = await (asOf === undefined ? theirs : theirs.where("epoch", "<=", asOf)).executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * In a transaction that takes away what a person signs in with, first or while they are held: calls that began before it
 * is over write nothing for them any more. Answers the epoch; undefined: they are in a later one than `asOf`, and nothing
 * is changed.
 */
export async function beginEpoch(db: Kysely<Database>, id: string, asOf?: number): Promise<number | undefined> {
  // The person before the number, in every transaction: what is written for them waits for this row, or this for it.
  if (!(await lockPerson(db, id, asOf))) return undefined;
  // Whoever comes next waits here until this one is committed: a later number is never seen before an earlier one.
  const { value } = await db
    .insertInto("meta")
    .values({ name: EPOCH_META_KEY, value: "1" })
    .onConflict((conflict) =>
      conflict.column("name").doUpdateSet({ value: sql`cast(cast(meta.value as bigint) + 1 as text)` }),
    )
    .returning("value")
    .executeTakeFirstOrThrow();
  const epoch = Number(value);
  await db.updateTable("people").set({ epoch }).where("id", "=", id).execute();
  return epoch;
}
