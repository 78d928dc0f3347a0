import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import type { Clock } from "../../../kit/clock.ts";
import { sha256Hex } from "../../../kit/secret.ts";
import type { Engine } from "./engine.ts";
import type { Migration } from "./migrations/all.ts";
import type { Database } from "./schema.ts";
import { StoreError } from "./store-error.ts";

const LOCK_RETRY_MS = 3_000;

export type MigrationWarn = (fields: object, text: string) => void;

/** The store and this version are incompatible; the message says what to do. */
export class MigrationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MigrationError";
  }
}

/** Applies pending migrations and returns how many. There are no down migrations: restore a backup instead. */
export async function migrate(
  engine: Pick<Engine, "db" | "ddl">,
  migrations: readonly Migration[],
  clock: Clock,
  warn: MigrationWarn = () => undefined,
): Promise<number> {
  const { db, ddl } = engine;
  const applied = await readApplied(engine);
  for (const row of applied) {
    const known = migrations.find(({ number }) => number === row.number);
    if (known === undefined)
      throw new MigrationError(
        `the store has migration ${row.number} (${row.name}), which this version does not know: run the version that created it, or a newer one`,
      );
    if (checksumOf(known.statements(ddl)) !== row.checksum)
      throw new MigrationError(
        `migration ${row.number} (${row.name}) differs from the one applied to this store: a released migration was changed`,
      );
  }
  const appliedNumbers = new Set(applied.map(({ number }) => number));
  const pending = migrations.filter(({ number }) => !appliedNumbers.has(number));
  for (const migration of pending) {
    const statements = migration.statements(ddl);
    const onLockTimeout = () =>
      warn({ migration: migration.number }, "migration: waiting for a table lock, will retry");
    const inTransaction = (work: (transaction: Kysely<Database>) => Promise<unknown>) =>
      retryOnLockTimeout(onLockTimeout, () =>
        db.transaction().execute(async (transaction) => {
          await runStatements(transaction, ddl.shortLockTimeout);
          await work(transaction);
        }),
      );
    await runStatements(db, migration.concurrentIndexes?.(ddl) ?? []);
    for (const statement of migration.preparation?.(ddl) ?? [])
      await inTransaction((session) => runStatements(session, [statement]));
    await inTransaction(async (transaction) => {
      await runStatements(transaction, statements);
      await transaction
        .insertInto("schema_migrations")
        .values({
          number: migration.number,
          name: migration.name,
          checksum: checksumOf(statements),
          applied_at_ms: Math.trunc(clock.nowMs()),
        })
        .execute();
    });
  }
  return pending.length;
}

async function runStatements(session: Kysely<Database>, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(session);
}

/** Other statements run between two attempts, so a long backup does not block them behind the migration. */
async function retryOnLockTimeout(onLockTimeout: () => void, work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== "lock_timeout") throw error;
    }
    onLockTimeout();
    await sleep(LOCK_RETRY_MS);
  }
}

/** Created only when missing: the role that runs a gateway may not be allowed to create tables. */
async function readApplied({ db, ddl }: Pick<Engine, "db" | "ddl">) {
  const read = () => db.selectFrom("schema_migrations").selectAll().orderBy("number").execute();
  const known = await read().catch(() => undefined);
  if (known !== undefined) return known;
  await sql
    .raw(
      `create table if not exists schema_migrations (
        number ${ddl.integer} not null primary key,
        name ${ddl.text} not null,
        checksum ${ddl.text} not null,
        applied_at_ms ${ddl.integer} not null
      ) ${ddl.plainTable}`,
    )
    .execute(db);
  return read();
}

function checksumOf(statements: readonly string[]): string {
  return sha256Hex(statements.join(";\n"));
}
