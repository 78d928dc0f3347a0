import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { Mutex } from "../../../../kit/mutex.ts";
import { StoreError } from "../store-error.ts";
import type { StoreWorkerClient } from "../store-worker-client.ts";
import type { SqlValue } from "../store-worker-protocol.ts";

export type SqliteConnection = Pick<StoreWorkerClient, "call" | "close">;

/** The Kysely dialect on SQLite in a worker thread: one connection, used by one query or transaction at a time. */
export function sqliteWorkerDialect(client: SqliteConnection, mutex: Mutex): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => workerDriver(client, mutex),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

function workerDriver(client: SqliteConnection, mutex: Mutex): Driver {
  const connection: DatabaseConnection = {
    async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
      const { rows, changes } = await client.call({ is: "query", sql, parameters: parameters.map(toSqlValue) });
      return { rows, numAffectedRows: changes };
    },
    streamQuery() {
      throw new StoreError("rejected", "results are read page by page, not streamed");
    },
  };
  const run = async (statement: string) => {
    await connection.executeQuery(CompiledQuery.raw(statement));
  };
  return {
    init: async () => {},
    acquireConnection: async () => {
      await mutex.enter();
      return connection;
    },
    releaseConnection: async () => mutex.leave(),
    beginTransaction: () => run("begin immediate"),
    commitTransaction: () => run("commit"),
    rollbackTransaction: () => run("rollback"),
    destroy: () => client.close(),
  };
}

function toSqlValue(value: unknown): SqlValue {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint")
    return value;
  if (value instanceof Uint8Array) return value;
  throw new StoreError("rejected", `a value of type ${typeof value} cannot be stored`);
}
