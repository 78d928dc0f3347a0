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

type PoolDialectOptions = {
  readonly healthProbe?: DatabaseHealthProbe | undefined;
  /** Throws while statements must not run. */
  readonly assertUsable?: () => void;
};

/** The Kysely dialect on a connection pool. */
export function poolDialect(pool: Pool, options: PoolDialectOptions = {}): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => poolDriver(pool, options),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

function poolDriver(pool: Pool, { healthProbe, assertUsable }: PoolDialectOptions): Driver {
  const acquired = new Map<DatabaseConnection, PooledConnection>();
  return {
    init: async () => {},
    async acquireConnection() {
      assertUsable?.();
      const pooled = await PooledConnection.acquire(pool, healthProbe);
      const connection = connectionOn(pooled);
      acquired.set(connection, pooled);
      return connection;
    },
    async releaseConnection(connection) {
      acquired.get(connection)?.release();
      acquired.delete(connection);
    },
    beginTransaction: async (connection) => acquired.get(connection)?.begin(),
    commitTransaction: async (connection) => acquired.get(connection)?.commit(),
    rollbackTransaction: async (connection) => acquired.get(connection)?.rollback(),
    destroy: () => pool.end(),
  };
}

const CHANGES = ["INSERT", "UPDATE", "DELETE"];

function connectionOn(pooled: PooledConnection): DatabaseConnection {
  return {
    async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
      // The caller's query determines the row type.
      const { rows, command, rowCount } = await pooled.query<never>(sql, parameters);
      return CHANGES.includes(command) ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows };
    },
    streamQuery() {
      throw new StoreError("rejected", "results are read page by page, not streamed");
    },
  };
}
