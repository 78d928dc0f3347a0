import { DatabaseSync, type StatementSync } from "node:sqlite";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { bigintPlugin } from "../../../src/io/store/sql/bigint-plugin.ts";
import type { Engine } from "../../../src/io/store/sql/engine.ts";
import { migrate } from "../../../src/io/store/sql/migrate.ts";
import { MIGRATIONS } from "../../../src/io/store/sql/migrations/all.ts";
import type { Database } from "../../../src/io/store/sql/schema.ts";
import { sqliteDdl } from "../../../src/io/store/sql/sqlite/ddl.ts";
import { prepareIngest } from "../../../src/io/store/sql/sqlite/ingest.ts";
import { SQLITE_HINTS } from "../../../src/io/store/sql/sqlite/open.ts";
import { registerFunctions } from "../../../src/io/store/sql/sqlite/open-database-file.ts";
import { StoreError } from "../../../src/io/store/sql/store-error.ts";
import { Mutex } from "../../../src/kit/mutex.ts";

/** The result of a query to SQL. */
export type SqlFate = "answered" | "away" | "answer_lost";

/** The real SQL and the real ingest on an in-memory database that all instances share. */
export class SharedSql {
  readonly #db: DatabaseSync;
  readonly #mutex = new Mutex();
  readonly #prepared: (sql: string) => StatementSync;
  readonly #ingest: ReturnType<typeof prepareIngest>;

  constructor() {
    this.#db = new DatabaseSync(":memory:");
    this.#db.deserialize(TEMPLATE);
    this.#db.exec("pragma foreign_keys = on; pragma recursive_triggers = on;");
    registerFunctions(this.#db);
    this.#prepared = preparing(this.#db);
    this.#ingest = prepareIngest(this.#db, () => false);
  }

  /** SQL as one incarnation of a process reaches it: `fate` decides the result of a transaction it commits. */
  engine(fate: () => SqlFate): Engine {
    const ingest = this.#ingest;
    return {
      db: kyselyOn(this.#db, this.#prepared, this.#mutex, fate),
      ddl: sqliteDdl,
      hints: SQLITE_HINTS,
      ingest: (batch) =>
        this.#mutex.pass(async () => {
          const is = fate();
          if (is === "away") throw away();
          try {
            ingest(batch);
          } catch (error) {
            throw new StoreError("rejected", String(error));
          }
          if (is === "answer_lost") throw away();
        }),
      refreshStatistics: async () => undefined,
      close: async () => undefined,
    };
  }

  /** Reads directly, as only the audit does. */
  rows(sql: string): Record<string, unknown>[] {
    return this.#prepared(sql).all();
  }

  close(): void {
    this.#db.close();
  }
}

function away(): StoreError {
  return new StoreError("unavailable", "SQL is away");
}

/** Prepared once for all. */
function preparing(db: DatabaseSync): (sql: string) => StatementSync {
  const statements = new Map<string, StatementSync>();
  return (sql) => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    statements.set(sql, statement);
    return statement;
  };
}

function kyselyOn(
  db: DatabaseSync,
  statementFor: (sql: string) => StatementSync,
  mutex: Mutex,
  fate: () => SqlFate,
): Kysely<Database> {
  const connection: DatabaseConnection = {
    async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
      const statement = statementFor(sql);
      const values = parameters.map(sqlValue);
      // Values have the types of the schema, as in the real driver.
      if (statement.columns().length > 0) return { rows: rowsOf<R>(statement.all(...values)) };
      return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
    },
    streamQuery() {
      throw new Error("results are read page by page");
    },
  };
  const run = (statement: string) => connection.executeQuery(CompiledQuery.raw(statement));
  const driver: Driver = {
    init: async () => {},
    acquireConnection: async () => {
      await mutex.enter();
      return connection;
    },
    releaseConnection: async () => mutex.leave(),
    beginTransaction: async () => {
      await run("begin immediate");
    },
    commitTransaction: async () => {
      const is = fate();
      // Kysely treats a failed commit as not committed, and rolls back what is no longer there.
      if (is !== "away") await run("commit");
      if (is !== "answered") throw away();
    },
    rollbackTransaction: async () => {
      if (db.isTransaction) await run("rollback");
    },
    destroy: async () => {},
  };
  return new Kysely<Database>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => driver,
      createIntrospector: (any) => new SqliteIntrospector(any),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    plugins: [bigintPlugin],
  });
}

function rowsOf<R>(rows: unknown[]): R[];
function rowsOf(rows: unknown[]): unknown[] {
  return rows;
}

function sqlValue(value: unknown): string | number | bigint | null | Uint8Array {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint")
    return value;
  if (value instanceof Uint8Array) return value;
  throw new Error(`a value of type ${typeof value} cannot be stored`);
}

/** All tables, created once. */
async function template(): Promise<Uint8Array> {
  const db = new DatabaseSync(":memory:");
  const made = kyselyOn(
    db,
    (sql) => db.prepare(sql),
    new Mutex(),
    () => "answered",
  );
  await migrate({ db: made, ddl: sqliteDdl }, MIGRATIONS, { nowMs: () => 0, monotonicMs: () => 0 });
  const bytes = db.serialize();
  db.close();
  return bytes;
}

const TEMPLATE = await template();
