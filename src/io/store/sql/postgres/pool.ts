import { type ClientBase, Pool, type PoolConfig } from "pg";
import type { DatabaseAddress } from "./address.ts";
import { integerTypes } from "./values.ts";

export type StatementTimeouts = "default" | "long_running";

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;
/** Added to the client-side timeout: normally the server cancels the statement first. */
const RESPONSE_GRACE_MS = 5_000;
const IDLE_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 10_000;

/** An unresponsive server must not delay shutdown. */
const CLOSE_TIMEOUT_MS = 2_000;

/** Waits for connections to close, up to a limit. */
export async function awaitClose(ending: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
  await Promise.race([ending.catch(() => {}), promise]);
  clearTimeout(timer);
}

/**
 * Settings that must not depend on server defaults: commits are durable when they return, because the journal then deletes the
 * records; isolation is read committed; and keepalives release the locks of a vanished machine.
 */
const SESSION_SETTINGS = `select
  set_config('synchronous_commit', case when current_setting('synchronous_commit') in ('off', 'local')
    then 'on' else current_setting('synchronous_commit') end, false),
  set_config('default_transaction_isolation', 'read committed', false),
  set_config('tcp_keepalives_idle', '20', false),
  set_config('tcp_keepalives_interval', '5', false),
  set_config('tcp_keepalives_count', '4', false)`;

/** A pooler may drop the timeouts that a connection asks for when it opens; here they are set where they are missing. */
const TIMEOUT_SETTINGS = ["statement_timeout", "idle_in_transaction_session_timeout"]
  .map(
    (name) => `, set_config('${name}', case current_setting('${name}') when '0' then '${STATEMENT_TIMEOUT_MS}'
    else current_setting('${name}') end, false)`,
  )
  .join("");

export async function applySessionSettings(client: ClientBase, timeouts: StatementTimeouts): Promise<void> {
  await client.query(timeouts === "default" ? SESSION_SETTINGS + TIMEOUT_SETTINGS : SESSION_SETTINGS);
}

/** `long_running` connections have no statement timeout. */
export function connectionConfig({ url }: DatabaseAddress, timeouts: StatementTimeouts): PoolConfig {
  return {
    connectionString: url,
    application_name: "inference-gateway",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: integerTypes,
    ...(timeouts === "default"
      ? {
          statement_timeout: STATEMENT_TIMEOUT_MS,
          idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
          query_timeout: STATEMENT_TIMEOUT_MS + RESPONSE_GRACE_MS,
        }
      : {}),
  };
}

export function openPool(address: DatabaseAddress, connections: number, timeouts: StatementTimeouts): Pool {
  const pool = new Pool({
    ...connectionConfig(address, timeouts),
    max: connections,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    onConnect: async (client) => {
      // A connection may break while idle; the next statement reports it.
      client.on("error", () => {});
      await applySessionSettings(client, timeouts);
    },
  });
  pool.on("error", () => {});
  return pool;
}
