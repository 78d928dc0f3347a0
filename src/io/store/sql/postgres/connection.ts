import type { Pool, PoolClient, QueryResult, QueryResultRow } from "pg";
import { StoreError } from "../store-error.ts";
import { endsConnection, toStoreError } from "./failure.ts";
import { toParameter } from "./values.ts";

/** A connection on loan from the pool. Its failures are those of the stores, and one that has failed is not used again. */
export class PooledConnection {
  readonly #client: PoolClient;
  #broken = false;

  private constructor(client: PoolClient) {
    this.#client = client;
  }

  static async take(pool: Pool): Promise<PooledConnection> {
    try {
      return new PooledConnection(await pool.connect());
    } catch (error) {
      throw toStoreError(error);
    }
  }

  async ask<Row extends QueryResultRow>(statement: string, parameters: readonly unknown[]): Promise<QueryResult<Row>> {
    const values = parameters.map(toParameter);
    try {
      return await this.#client.query<Row>(statement, values);
    } catch (error) {
      this.#broken ||= endsConnection(error);
      throw toStoreError(error);
    }
  }

  async begin(): Promise<void> {
    await this.ask("begin", []);
  }

  async commit(): Promise<void> {
    const { command } = await this.ask("commit", []);
    // Where a statement had failed, PostgreSQL takes back everything and calls that the answer to COMMIT.
    if (command === "ROLLBACK") throw new StoreError("unavailable", "the transaction was taken back");
  }

  /** Never rejects: a connection that cannot even do this is not used again, and its end takes the transaction back. */
  async rollback(): Promise<void> {
    await this.ask("rollback", []).catch(() => {});
  }

  release(): void {
    this.#client.release(this.#broken);
  }
}
