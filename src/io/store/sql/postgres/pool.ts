import { Pool, type PoolConfig } from "pg";
import type { DatabaseAddress } from "./address.ts";
import { integerTypes } from "./values.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;
/** The server ends a statement first; this is for a server that says nothing any more. */
const RESPONSE_GRACE_MS = 5_000;
const IDLE_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 10_000;

/** So long a server has to say goodbye: one that says nothing must not hold up the end of the gateway. */
const CLOSE_TIMEOUT_MS = 2_000;

/** The end of connections, waited for within reason. */
export async function awaitClose(ending: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
  await Promise.race([ending.catch(() => {}), promise]);
  clearTimeout(timer);
}

/**
 * What a session must not leave to how the server is set up: a commit is on the disk when it returns, because the
 * journal lets go of the records then; statements of a transaction see what was committed before each of them; and
 * a gateway whose machine is gone does not keep its locks for hours.
 */
export const SESSION_SETTINGS = `select
  set_config('synchronous_commit', case when current_setting('synchronous_commit') in ('off', 'local')
    then 'on' else current_setting('synchronous_commit') end, false),
  set_config('default_transaction_isolation', 'read committed', false),
  set_config('tcp_keepalives_idle', '20', false),
  set_config('tcp_keepalives_interval', '5', false),
  set_config('tcp_keepalives_count', '4', false)`;

/** Settings of every connection; a patient one lets a statement take as long as it takes. */
export function connectionConfig({ url }: DatabaseAddress, hurry: "hurried" | "patient"): PoolConfig {
  return {
    connectionString: url,
    application_name: "inference-gateway",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: integerTypes,
    ...(hurry === "hurried"
      ? {
          statement_timeout: STATEMENT_TIMEOUT_MS,
          idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
          query_timeout: STATEMENT_TIMEOUT_MS + RESPONSE_GRACE_MS,
        }
      : {}),
  };
}

export function openPool(address: DatabaseAddress, connections: number, hurry: "hurried" | "patient"): Pool {
  const pool = new Pool({
    ...connectionConfig(address, hurry),
    max: connections,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    onConnect: async (client) => {
      // A connection may break between two statements, when nobody waits for an answer: the next one says so.
      client.on("error", () => {});
      await client.query(SESSION_SETTINGS);
    },
  });
  pool.on("error", () => {});
  return pool;
}
