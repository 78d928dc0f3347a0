import type { Pool, PoolClient, QueryResult, QueryResultRow } from "pg";
import { StoreError } from "../store-error.ts";
import { isConnectionFatal, toStoreError } from "./errors.ts";
import type { DatabaseHealthProbe } from "./health-probe.ts";
import { toParameter } from "./values.ts";

/** A connection on loan from the pool. Its failures are those of the stores, and one that has failed is not used again. */
export class PooledConnection {
  readonly #client: PoolClient;
  readonly #healthProbe: DatabaseHealthProbe | undefined;
  #isBroken = false;

  private constructor(client: PoolClient, pulse: DatabaseHealthProbe | undefined) {
    this.#client = client;
    this.#healthProbe = pulse;
  }

  /** Without a pulse a server is waited for as long as a connection or a statement may take. */
  static async acquire(pool: Pool, pulse?: DatabaseHealthProbe): Promise<PooledConnection> {
    const taking = pool.connect();
    try {
      return new PooledConnection(await (pulse === undefined ? taking : pulse.guard(taking)), pulse);
    } catch (error) {
      // One that comes after all is for somebody else.
      taking.then(
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
      const asked = this.#client.query<Row>(statement, values);
      return await (this.#healthProbe === undefined ? asked : this.#healthProbe.guard(asked));
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
    // Where a statement had failed, PostgreSQL takes back everything and calls that the answer to COMMIT.
    if (command === "ROLLBACK") throw new StoreError("unavailable", "the transaction was taken back");
  }

  /** Never rejects: a connection that cannot even do this is not used again, and its end takes the transaction back. */
  async rollback(): Promise<void> {
    if (!this.#isBroken) await this.query("rollback", []).catch(() => {});
  }

  release(): void {
    this.#client.release(this.#isBroken);
  }
}
