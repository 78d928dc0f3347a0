import { type Kysely, sql } from "kysely";
import type { Database } from "./schema.ts";

/** In `meta`, so that reading it does not depend on the number of accounts. */
const EPOCH_META_KEY = "people_epoch";

export async function currentEpoch(db: Kysely<Database>): Promise<number> {
  const row = await db.selectFrom("meta").select("value").where("name", "=", EPOCH_META_KEY).executeTakeFirst();
  return Number(row?.value ?? 0);
}

/**
 * Locks the person's row, so that concurrent sign-in calls wait and earlier writes are visible. False when the person does not
 * exist or is in a later epoch than `asOf`.
 */
export async function lockPerson(db: Kysely<Database>, id: string, asOf?: number): Promise<boolean> {
  const update = db
    .updateTable("people")
    .set(({ ref }) => ({ epoch: ref("epoch") }))
    .where("id", "=", id);
  const { numUpdatedRows } = await (asOf === undefined ? update : update.where("epoch", "<=", asOf)).executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * Starts a new epoch in a transaction that revokes credentials: sign-in calls that began earlier can write nothing for this
 * person. Returns the epoch, or undefined without any change when the person is in a later epoch than `asOf`.
 */
export async function beginEpoch(db: Kysely<Database>, id: string, asOf?: number): Promise<number | undefined> {
  // Lock order: the person before the counter, in every transaction.
  if (!(await lockPerson(db, id, asOf))) return undefined;
  // The upsert locks the counter until the commit, so epochs become visible in order.
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
