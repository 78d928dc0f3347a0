import type { Pool, PoolClient, QueryResult, QueryResultRow } from "pg";
import { StoreError } from "../store-error.ts";
import { endsConnection, toStoreError } from "./errors.ts";
import type { Pulse } from "./health-probe.ts";
import { toParameter } from "./values.ts";

/** A connection on loan from the pool. Its failures are those of the stores, and one that has failed is not used again. */
export class PooledConnection {
  readonly #client: PoolClient;
  readonly #pulse: Pulse | undefined;
  #broken = false;

  private constructor(client: PoolClient, pulse: Pulse | undefined) {
    this.#client = client;
    this.#pulse = pulse;
  }

  /** Without a pulse a server is waited for as long as a connection or a statement may take. */
  static async take(pool: Pool, pulse?: Pulse): Promise<PooledConnection> {
    const taking = pool.connect();
    try {
      return new PooledConnection(await (pulse === undefined ? taking : pulse.during(taking)), pulse);
    } catch (error) {
      // One that comes after all is for somebody else.
      taking.then(
        (client) => client.release(),
        () => {},
      );
      throw toStoreError(error);
    }
  }

  async ask<Row extends QueryResultRow>(statement: string, parameters: readonly unknown[]): Promise<QueryResult<Row>> {
    const values = parameters.map(toParameter);
    try {
      const asked = this.#client.query<Row>(statement, values);
      return await (this.#pulse === undefined ? asked : this.#pulse.during(asked));
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
    if (!this.#broken) await this.ask("rollback", []).catch(() => {});
  }

  release(): void {
    this.#client.release(this.#broken);
  }
}
