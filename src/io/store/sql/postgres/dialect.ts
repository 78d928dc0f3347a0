import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";
import type { Pool } from "pg";
import { StoreError } from "../store-error.ts";
import { PooledConnection } from "./connection.ts";
import type { DatabaseHealthProbe } from "./health-probe.ts";

/** Kysely on a pool of connections. */
export function poolDialect(pool: Pool, pulse?: DatabaseHealthProbe): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => poolDriver(pool, pulse),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

function poolDriver(pool: Pool, pulse: DatabaseHealthProbe | undefined): Driver {
  const taken = new Map<DatabaseConnection, PooledConnection>();
  return {
    init: async () => {},
    async acquireConnection() {
      const pooled = await PooledConnection.acquire(pool, pulse);
      const connection = connectionOn(pooled);
      taken.set(connection, pooled);
      return connection;
    },
    async releaseConnection(connection) {
      taken.get(connection)?.release();
      taken.delete(connection);
    },
    beginTransaction: async (connection) => taken.get(connection)?.begin(),
    commitTransaction: async (connection) => taken.get(connection)?.commit(),
    rollbackTransaction: async (connection) => taken.get(connection)?.rollback(),
    destroy: () => pool.end(),
  };
}

const CHANGES = ["INSERT", "UPDATE", "DELETE"];

function connectionOn(pooled: PooledConnection): DatabaseConnection {
  return {
    async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
      // The rows are typed by the query that asked for them.
      const { rows, command, rowCount } = await pooled.query<never>(sql, parameters);
      return CHANGES.includes(command) ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows };
    },
    streamQuery() {
      throw new StoreError("rejected", "results are read page by page, not streamed");
    },
  };
}
