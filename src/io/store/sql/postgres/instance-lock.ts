import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import type { Log } from "../../../../kit/log.ts";
import type { DatabaseAddress } from "./address.ts";
import { errorText } from "./errors.ts";
import { awaitClose, connectionConfig, SESSION_SETTINGS } from "./pool.ts";

export class DatabaseInUseError extends Error {
  constructor({ shown }: DatabaseAddress, holder: string) {
    super(
      `the database ${shown} is in use by another gateway${holder}: stop it first, or set DATABASE_URL to another database`,
    );
    this.name = "DatabaseInUseError";
  }
}

/** Keys of advisory locks; `ours` is the first key of all. */
export const ADVISORY_LOCKS = { ours: 0x67617465, instance: 1, migration: 2, change: 3 } as const;

/** A killed gateway releases its lock at once; one that is stopping needs a moment. */
const ACQUIRE_TIMEOUT_MS = 3_000;
const ACQUIRE_RETRY_MS = 100;
const REACQUIRE_INTERVAL_MS = 1_000;

const TRY_LOCK = `select pg_try_advisory_lock(${ADVISORY_LOCKS.ours}, ${ADVISORY_LOCKS.instance}) as held`;
const LOCK_HOLDER = `select client_addr::text as address, backend_start::text as since from pg_locks
  join pg_stat_activity using (pid) where locktype = 'advisory' and granted and database =
  (select oid from pg_database where datname = current_database())
  and classid = ${ADVISORY_LOCKS.ours} and objid = ${ADVISORY_LOCKS.instance}`;

/**
 * Locks a database for this process: balances are in its memory, and two unaware gateways would spend the same money twice.
 * The session lock ends with the process in any case. It also ends with a restart of PostgreSQL; then it is reacquired, and
 * `isLost` is set when another gateway was faster.
 */
export class InstanceLock {
  readonly #address: DatabaseAddress;
  readonly #log: Log;
  #client: Client | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #isReleased = false;
  #isLost = false;

  private constructor(address: DatabaseAddress, log: Log) {
    this.#address = address;
    this.#log = log;
  }

  static async acquire(address: DatabaseAddress, log: Log): Promise<InstanceLock> {
    const lock = new InstanceLock(address, log);
    const client = await lock.#connect();
    for (let waitedMs = 0; !(await tryLock(client)); waitedMs += ACQUIRE_RETRY_MS) {
      if (waitedMs >= ACQUIRE_TIMEOUT_MS) {
        const holder = await describeHolder(client);
        await client.end();
        throw new DatabaseInUseError(address, holder);
      }
      await sleep(ACQUIRE_RETRY_MS);
    }
    lock.#hold(client);
    return lock;
  }

  /** Another gateway holds the lock. */
  get isLost(): boolean {
    return this.#isLost;
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    clearTimeout(this.#retryTimer);
    if (this.#client !== undefined) await awaitClose(this.#client.end());
    this.#client = undefined;
  }

  async #connect(): Promise<Client> {
    const client = new Client(connectionConfig(this.#address, "default"));
    client.on("error", () => {});
    await client.connect();
    await client.query(SESSION_SETTINGS);
    return client;
  }

  #hold(client: Client): void {
    this.#client = client;
    this.#isLost = false;
    client.on("end", () => {
      this.#client = undefined;
      if (this.#isReleased) return;
      this.#log.warn({ database: this.#address.shown }, "instance-lock: connection lost, lock released");
      this.#scheduleReacquire();
    });
  }

  #scheduleReacquire(): void {
    this.#retryTimer = setTimeout(() => void this.#reacquire(), REACQUIRE_INTERVAL_MS).unref();
  }

  async #reacquire(): Promise<void> {
    let client: Client | undefined;
    try {
      client = await this.#connect();
      const isOurs = await tryLock(client);
      if (!isOurs || this.#isReleased) {
        if (!isOurs) this.#reportLost(await describeHolder(client));
        await client.end();
      } else {
        this.#log.info({ database: this.#address.shown }, "instance-lock: reacquired");
        this.#hold(client);
        return;
      }
    } catch (error) {
      this.#log.warn({ error: errorText(error) }, "instance-lock: database unreachable, will retry");
      await client?.end().catch(() => {});
    }
    if (!this.#isReleased) this.#scheduleReacquire();
  }

  #reportLost(holder: string): void {
    if (this.#isLost || this.#isReleased) return;
    this.#isLost = true;
    this.#log.error(
      { database: this.#address.shown, holder: holder.trim() },
      "instance-lock: database is in use by another gateway",
    );
  }
}

async function tryLock(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>(TRY_LOCK);
  return rows[0]?.held === true;
}

/** For the error message only. */
async function describeHolder(client: Client): Promise<string> {
  try {
    const { rows } = await client.query<{ address: string | null; since: string | null }>(LOCK_HOLDER);
    const { address, since } = rows[0] ?? {};
    const parts = [address ? `at ${address}` : "", since ? `since ${since}` : ""].filter((part) => part !== "");
    return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
  } catch {
    return "";
  }
}
