import type { Pool, PoolClient, QueryResult, QueryResultRow } from "pg";
import { StoreError } from "../store-error.ts";
import { isConnectionFatal, toStoreError } from "./errors.ts";
import type { DatabaseHealthProbe } from "./health-probe.ts";
import { toParameter } from "./values.ts";

/** A connection from the pool. Errors are mapped to `StoreError`, and a broken connection is not reused. */
export class PooledConnection {
  readonly #client: PoolClient;
  readonly #healthProbe: DatabaseHealthProbe | undefined;
  #isBroken = false;

  private constructor(client: PoolClient, healthProbe: DatabaseHealthProbe | undefined) {
    this.#client = client;
    this.#healthProbe = healthProbe;
  }

  /** Without a health probe only the connect and statement timeouts apply. */
  static async acquire(pool: Pool, healthProbe?: DatabaseHealthProbe): Promise<PooledConnection> {
    const connecting = pool.connect();
    try {
      return new PooledConnection(
        await (healthProbe === undefined ? connecting : healthProbe.guard(connecting)),
        healthProbe,
      );
    } catch (error) {
      // A connection that arrives late goes back to the pool.
      connecting.then(
        (client) => client.release(),
        () => {},
      );
      throw toStoreError(error);
    }
  }

  async query<Row extends QueryResultRow>(
    statement: string,
    parameters: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    const values = parameters.map(toParameter);
    try {
      const running = this.#client.query<Row>(statement, values);
      return await (this.#healthProbe === undefined ? running : this.#healthProbe.guard(running));
    } catch (error) {
      this.#isBroken ||= isConnectionFatal(error);
      throw toStoreError(error);
    }
  }

  async begin(): Promise<void> {
    await this.query("begin", []);
  }

  async commit(): Promise<void> {
    const { command } = await this.query("commit", []);
    // After a failed statement PostgreSQL answers COMMIT with ROLLBACK.
    if (command === "ROLLBACK") throw new StoreError("unavailable", "the transaction was rolled back");
  }

  /** Never rejects: closing a broken connection rolls back its transaction. */
  async rollback(): Promise<void> {
    if (!this.#isBroken) await this.query("rollback", []).catch(() => {});
  }

  release(): void {
    this.#client.release(this.#isBroken);
  }
}
