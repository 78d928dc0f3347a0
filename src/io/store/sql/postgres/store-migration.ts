import { CompiledQuery, type Kysely, sql } from "kysely";
import type { Clock } from "../../../../kit/clock.ts";
import type { Log } from "../../../../kit/log.ts";
import { DAY_MS } from "../../../../kit/time.ts";
import { auditLedger } from "../ledger-audit.ts";
import type { Database } from "../schema.ts";
import { StoreError } from "../store-error.ts";
import type { DatabaseAddress } from "./address.ts";
import { errorText } from "./errors.ts";
import { addPartitionsFor } from "./log-partitions.ts";
import { acquireMigrationLock, migratePostgres, openDatabase } from "./open.ts";
import { hasOnlyValidEscapes, replaceInvalidEscapes } from "./values.ts";

/** Nothing was migrated and the target is unchanged; the message says what to do. */
export class StoreMigrationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StoreMigrationError";
  }
}

export type StoreCopyReport = {
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  /** Ledger violations that existed before the migration. */
  readonly audit: readonly string[];
};

export type StoreMigrationSettings = {
  readonly from: Kysely<Database>;
  readonly to: DatabaseAddress;
  readonly clock: Clock;
  readonly logKeptMs: number | null;
  /** Copies and verifies everything, then rolls back. */
  readonly dryRun: boolean;
  /** Runs before the commit; a rejection rolls back. */
  readonly check: (moved: Kysely<Database>) => Promise<void>;
  readonly progress: (table: string, done: number, of: number) => void;
  readonly log: Pick<Log, "warn">;
};

type SourceTable = {
  readonly name: string;
  readonly columns: readonly SourceColumn[];
  readonly key: readonly string[];
};
type SourceColumn = { readonly name: string; readonly type: string };
type SourceValue = string | bigint | number | null | Uint8Array;
type SourceRow = Readonly<Record<string, SourceValue>>;

/** Created by the migrations of each store. */
const EXCLUDED_TABLES = ["schema_migrations"];
const PAGE_BYTES = 4_000_000;
const PAGE_ROWS_MAX = 5_000;
const PAGE_ROWS_FIRST = 50;

const CLI_ADDRESS_TEXT = {
  as: "--to",
  forOwner: "use the role that owns the database or its tables in --to",
};

/**
 * Copies an embedded store into an empty PostgreSQL database, in one transaction that includes the checks: after any
 * interruption the target is empty and the migration can be repeated. Gateways that start meanwhile wait for the lock.
 */
export async function copyStore(settings: StoreMigrationSettings): Promise<StoreCopyReport> {
  const { to, dryRun, log } = settings;
  const db = openDatabase(to, 1, "long_running");
  try {
    await migratePostgres(to, { ...settings, addressText: CLI_ADDRESS_TEXT });
    return await db.connection().execute(async (session) => {
      await acquireMigrationLock(session);
      const report = await session.transaction().execute(async (transaction) => {
        const result = await copyAll(settings, transaction);
        if (dryRun) throw new DryRunRollback(result);
        return result;
      });
      // The query planner has no statistics of the new rows yet.
      await sql`analyze`.execute(session).catch((error: unknown) => {
        log.warn(
          { error: errorText(error) },
          "store-migration: data is migrated, but ANALYZE failed; run ANALYZE on the database",
        );
      });
      return report;
    });
  } catch (error) {
    if (error instanceof DryRunRollback) return error.report;
    if (!(error instanceof StoreError)) throw error;
    throw new StoreMigrationError(
      `nothing was copied to ${to.shown} (${error.message}): fix the problem and start again`,
    );
  } finally {
    await db.destroy();
  }
}

/** Rolls back the transaction of a dry run. */
class DryRunRollback extends Error {
  readonly report: StoreCopyReport;

  constructor(report: StoreCopyReport) {
    super("dry run");
    this.report = report;
  }
}

async function copyAll(settings: StoreMigrationSettings, to: Kysely<Database>): Promise<StoreCopyReport> {
  // Without the plugin integers stay bigint.
  const from = settings.from.withoutPlugins();
  const tables = await readTables(from, to);
  for (const { name } of tables)
    if (await hasRows(to, name))
      throw new StoreMigrationError(
        `the database ${settings.to.shown} is not empty (${name} has rows): create a new one with createdb and use its name`,
      );
  await addPartitionsFor(to, settings.logKeptMs, await requestDays(from));
  const copied: { name: string; rows: number }[] = [];
  for (const table of tables) {
    const rows = await countOf(from, table.name);
    await copyTable(from, to, table, (done) => settings.progress(table.name, done, rows));
    copied.push({ name: table.name, rows });
  }
  await setSequences(to);
  return { tables: copied, audit: await verifyCopy(settings, to, copied) };
}

/** Compares row counts, the ledger audit and the newest request. Returns ledger violations that existed before. */
async function verifyCopy(
  { from, check }: StoreMigrationSettings,
  to: Kysely<Database>,
  copied: readonly { readonly name: string; readonly rows: number }[],
): Promise<readonly string[]> {
  for (const { name, rows } of copied) {
    const found = await countOf(to, name);
    if (found !== rows)
      throw new StoreMigrationError(`${name} has ${rows} rows in the source but ${found} in the target: start again`);
  }
  const before = await auditLedger(from);
  const newProblems = (await auditLedger(to)).filter((problem) => !before.includes(problem));
  if (newProblems.length > 0)
    throw new StoreMigrationError(`the ledger checks differ in the target: ${newProblems.join("; ")}`);
  const [source, target] = [await newestRequestId(from), await newestRequestId(to)];
  if (source !== target)
    throw new StoreMigrationError(
      `the newest request is ${source} in the source but ${target} in the target: start again`,
    );
  await check(to);
  return before;
}

/** Every table, in the order of foreign keys. */
async function readTables(from: Kysely<Database>, to: Kysely<Database>): Promise<SourceTable[]> {
  const { rows: tableNames } = await sql<{ name: string }>`
    select name from sqlite_master where type = 'table' and substr(name, 1, 7) <> 'sqlite_' order by name`.execute(
    from,
  );
  const names = tableNames.map(({ name }) => name).filter((name) => !EXCLUDED_TABLES.includes(name));
  const { rows: types } = await sql<{ table_name: string; column_name: string; type: string }>`
    select table_name::text, column_name::text, data_type::text as type from information_schema.columns
    where table_schema = current_schema() order by table_name, ordinal_position`.execute(to);
  const tables = new Map<string, SourceTable>();
  const references = new Map<string, string[]>();
  for (const name of names) {
    const { rows: columns } = await sql<{ name: string; pk: bigint }>`
      select name, pk from pragma_table_info(${name}) order by pk`.execute(from);
    const { rows: referenced } = await sql<{ table: string }>`
      select "table" from pragma_foreign_key_list(${name})`.execute(from);
    const columnTypes = types.filter(({ table_name }) => table_name === name);
    const missing = columns.find((column) => !columnTypes.some(({ column_name }) => column_name === column.name));
    if (missing !== undefined) throw new StoreMigrationError(`PostgreSQL has no column ${name}.${missing.name}`);
    tables.set(name, {
      name,
      columns: columnTypes.map(({ column_name, type }) => ({ name: column_name, type })),
      key: columns.filter(({ pk }) => pk > 0n).map((column) => column.name),
    });
    references.set(
      name,
      referenced.map(({ table }) => table).filter((reference) => reference !== name),
    );
  }
  return dependencyOrder(tables, references);
}

function dependencyOrder(
  tables: ReadonlyMap<string, SourceTable>,
  references: ReadonlyMap<string, readonly string[]>,
): SourceTable[] {
  const sorted = new Set<SourceTable>();
  const visit = (name: string) => {
    const table = tables.get(name);
    if (table === undefined || sorted.has(table)) return;
    for (const reference of references.get(name) ?? []) visit(reference);
    sorted.add(table);
  };
  for (const name of tables.keys()) visit(name);
  return [...sorted];
}

/** Copies pages of similar size in bytes, by keyset pagination on the primary key. */
async function copyTable(
  from: Kysely<Database>,
  to: Kysely<Database>,
  { name, columns, key }: SourceTable,
  progress: (done: number) => void,
): Promise<void> {
  const names = columns.map((column) => sql.ref(column.name));
  const keyColumns = sql.join(key.map((column) => sql.ref(column)));
  const insert = `insert into ${quoteIdentifier(name)} (${columns.map((column) => quoteIdentifier(column.name)).join(", ")})
    overriding system value select * from unnest(${columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(", ")})`;
  let after: readonly SourceValue[] | undefined;
  let limit = PAGE_ROWS_FIRST;
  for (let done = 0; ; ) {
    const afterKey = after === undefined ? sql`` : sql`where (${keyColumns}) > (${sql.join(after)})`;
    const { rows } = await sql<SourceRow>`
      select ${sql.join(names)} from ${sql.table(name)} ${afterKey} order by ${keyColumns} limit ${sql.lit(limit)}`.execute(
      from,
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    const values = columns.map((column) =>
      rows.map((row) => toPostgresValue(name, column.name, row[column.name] ?? null)),
    );
    await to.executeQuery(CompiledQuery.raw(insert, values));
    done += rows.length;
    progress(done);
    after = key.map((column) => last[column] ?? null);
    const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 1);
    limit = Math.max(1, Math.min(PAGE_ROWS_MAX, 2 * limit, Math.trunc((rows.length * PAGE_BYTES) / bytes)));
  }
}

function bytesOf(row: SourceRow): number {
  return Object.values(row).reduce<number>(
    (sum, value) => sum + (typeof value === "string" || value instanceof Uint8Array ? value.length : 8),
    0,
  );
}

/** PostgreSQL cannot extract fields from JSON with invalid escapes. */
function toPostgresValue(table: string, column: string, value: SourceValue): SourceValue {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (column !== "record" || typeof value !== "string") return value;
  return table !== "request_records" || hasOnlyValidEscapes(Buffer.from(value)) ? value : replaceInvalidEscapes(value);
}

async function requestDays(from: Kysely<Database>): Promise<number[]> {
  const { rows } = await sql<{ day: bigint }>`
    select distinct created_at_ms - created_at_ms % ${sql.lit(DAY_MS)} as day from request_records`.execute(from);
  return rows.map(({ day }) => Number(day));
}

/** Identity columns continue after the copied values. */
async function setSequences(to: Kysely<Database>): Promise<void> {
  const { rows } = await sql<{ table_name: string; column_name: string }>`
    select table_name::text, column_name::text from information_schema.columns
    where table_schema = current_schema() and is_identity = 'YES'`.execute(to);
  for (const { table_name: table, column_name: column } of rows)
    await sql`select setval(pg_get_serial_sequence(${table}, ${column}), coalesce(max(${sql.ref(column)}), 0) + 1, false)
      from ${sql.table(table)}`.execute(to);
}

async function hasRows(db: Kysely<Database>, table: string): Promise<boolean> {
  const { rows } = await sql`select 1 as one from ${sql.table(table)} limit 1`.execute(db);
  return rows.length > 0;
}

async function countOf(db: Kysely<Database>, table: string): Promise<number> {
  const { rows } = await sql<{ rows: number | bigint }>`select count(*) as rows from ${sql.table(table)}`.execute(db);
  return Number(rows[0]?.rows);
}

async function newestRequestId(db: Kysely<Database>): Promise<string> {
  const newest = await db
    .selectFrom("request_records")
    .select("id")
    .orderBy("created_at_ms", "desc")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return newest?.id ?? "none";
}

function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
