import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";
import type { Pool, PoolClient } from "pg";
import { StoreError } from "../store-error.ts";
import { endsConnection, toStoreError } from "./failure.ts";
import { toParameter } from "./values.ts";

/** Kysely on a pool whose failures are those of the stores, and which keeps no connection that has failed. */
export function poolDialect(pool: Pool): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => poolDriver(pool),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

function poolDriver(pool: Pool): Driver {
  const taken = new Map<DatabaseConnection, PooledConnection>();
  return {
    init: async () => {},
    async acquireConnection() {
      const client = await pool.connect().catch((error: unknown) => {
        throw toStoreError(error);
      });
      const connection = new PooledConnection(client);
      taken.set(connection, connection);
      return connection;
    },
    async releaseConnection(connection) {
      taken.get(connection)?.release();
      taken.delete(connection);
    },
    async beginTransaction(connection) {
      await connection.executeQuery(CompiledQuery.raw("begin"));
    },
    async commitTransaction(connection) {
      // Where a statement had failed, PostgreSQL takes back everything and calls that the answer to COMMIT.
      if ((await taken.get(connection)?.run("commit")) === "ROLLBACK")
        throw new StoreError("unavailable", "the transaction was taken back");
    },
    async rollbackTransaction(connection) {
      // A connection that cannot even do this is not used again, and its end takes the transaction back.
      await taken
        .get(connection)
        ?.run("rollback")
        .catch(() => {});
    },
    destroy: () => pool.end(),
  };
}

const CHANGES = ["INSERT", "UPDATE", "DELETE"];

class PooledConnection implements DatabaseConnection {
  readonly #client: PoolClient;
  #broken = false;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, command, rowCount } = await this.#ask(sql, parameters);
    return CHANGES.includes(command) ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows };
  }

  streamQuery(): never {
    throw new StoreError("rejected", "results are read page by page, not streamed");
  }

  async run(statement: string): Promise<string> {
    return (await this.#ask(statement, [])).command;
  }

  release(): void {
    this.#client.release(this.#broken);
  }

  async #ask(sql: string, parameters: readonly unknown[]) {
    const values = parameters.map(toParameter);
    try {
      return await this.#client.query(sql, values);
    } catch (error) {
      this.#broken ||= endsConnection(error);
      throw toStoreError(error);
    }
  }
}
