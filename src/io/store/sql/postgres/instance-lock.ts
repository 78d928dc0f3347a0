import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import type { Log } from "../../../../kit/log.ts";
import type { DatabaseAddress } from "./address.ts";
import { wordsOf } from "./errors.ts";
import { connectionTo, ended, SESSION } from "./pool.ts";

/** Another gateway works on this database. */
export class DatabaseInUse extends Error {
  constructor({ shown }: DatabaseAddress, holder: string) {
    super(
      `the database ${shown} is in use by another gateway${holder}: stop it first, or set DATABASE_URL to another database`,
    );
    this.name = "DatabaseInUse";
  }
}

/** Advisory locks of a database, by two numbers: the first is ours. */
export const LOCKS = { ours: 0x67617465, instance: 1, migration: 2, change: 3 } as const;

/** A gateway that was killed is noticed at once, one that is just stopping needs a moment. */
const PATIENCE_MS = 3_000;
const TRY_EVERY_MS = 100;
const AGAIN_EVERY_MS = 1_000;

const TRY = `select pg_try_advisory_lock(${LOCKS.ours}, ${LOCKS.instance}) as held`;
const HOLDER = `select client_addr::text as address, backend_start::text as since from pg_locks
  join pg_stat_activity using (pid) where locktype = 'advisory' and granted and database =
  (select oid from pg_database where datname = current_database())
  and classid = ${LOCKS.ours} and objid = ${LOCKS.instance}`;

/**
 * Takes a database for this process: balances live in its memory, and two that do not know of each other would spend
 * the same money twice. The lock is that of a session, so it ends with the process, however that ends. It also ends
 * with a restart of PostgreSQL; then it is taken again, and if another gateway was faster, `isTaken` says so.
 */
export class InstanceLock {
  readonly #address: DatabaseAddress;
  readonly #log: Log;
  #client: Client | undefined;
  #again: NodeJS.Timeout | undefined;
  #released = false;
  #taken = false;

  private constructor(address: DatabaseAddress, log: Log) {
    this.#address = address;
    this.#log = log;
  }

  static async take(address: DatabaseAddress, log: Log): Promise<InstanceLock> {
    const lock = new InstanceLock(address, log);
    const client = await lock.#connect();
    for (let waitedMs = 0; !(await isHeld(client)); waitedMs += TRY_EVERY_MS) {
      if (waitedMs >= PATIENCE_MS) {
        const holder = await holderOf(client);
        await client.end();
        throw new DatabaseInUse(address, holder);
      }
      await sleep(TRY_EVERY_MS);
    }
    lock.#keep(client);
    return lock;
  }

  /** Another gateway took the database while this one had lost it. */
  get isTaken(): boolean {
    return this.#taken;
  }

  async release(): Promise<void> {
    this.#released = true;
    clearTimeout(this.#again);
    if (this.#client !== undefined) await ended(this.#client.end());
    this.#client = undefined;
  }

  async #connect(): Promise<Client> {
    const client = new Client(connectionTo(this.#address, "hurried"));
    client.on("error", () => {});
    await client.connect();
    await client.query(SESSION);
    return client;
  }

  #keep(client: Client): void {
    this.#client = client;
    this.#taken = false;
    client.on("end", () => {
      this.#client = undefined;
      if (this.#released) return;
      this.#log.warn({ database: this.#address.shown }, "the connection that keeps other gateways out is lost");
      this.#tryLater();
    });
  }

  #tryLater(): void {
    this.#again = setTimeout(() => void this.#tryAgain(), AGAIN_EVERY_MS).unref();
  }

  async #tryAgain(): Promise<void> {
    let client: Client | undefined;
    try {
      client = await this.#connect();
      const isOurs = await isHeld(client);
      if (!isOurs || this.#released) {
        if (!isOurs) this.#sayTaken(await holderOf(client));
        await client.end();
      } else {
        this.#log.info({ database: this.#address.shown }, "other gateways are kept out again");
        this.#keep(client);
        return;
      }
    } catch (error) {
      this.#log.warn({ why: wordsOf(error) }, "the database cannot be reached to keep other gateways out");
      await client?.end().catch(() => {});
    }
    if (!this.#released) this.#tryLater();
  }

  #sayTaken(holder: string): void {
    if (this.#taken || this.#released) return;
    this.#taken = true;
    this.#log.error({}, new DatabaseInUse(this.#address, holder).message);
  }
}

async function isHeld(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>(TRY);
  return rows[0]?.held === true;
}

/** Only for the message. */
async function holderOf(client: Client): Promise<string> {
  try {
    const { rows } = await client.query<{ address: string | null; since: string | null }>(HOLDER);
    const { address, since } = rows[0] ?? {};
    const parts = [address ? `at ${address}` : "", since ? `since ${since}` : ""].filter((part) => part !== "");
    return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
  } catch {
    return "";
  }
}
