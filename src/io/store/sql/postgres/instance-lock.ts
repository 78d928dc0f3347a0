import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import type { Log } from "../../../../kit/log.ts";
import { randomToken } from "../../../../kit/secret.ts";
import type { DatabaseAddress } from "./address.ts";
import { errorText } from "./errors.ts";
import { applySessionSettings, awaitClose, connectionConfig } from "./pool.ts";

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
const VERIFY_INTERVAL_MS = 5_000;

const TRY_LOCK = `select pg_try_advisory_lock(${ADVISORY_LOCKS.ours}, ${ADVISORY_LOCKS.instance}) as held`;
const LOCK_ROWS = `from pg_locks where locktype = 'advisory' and granted and classid = ${ADVISORY_LOCKS.ours}
  and objid = ${ADVISORY_LOCKS.instance} and database = (select oid from pg_database where datname = current_database())`;
const LOCK_HOLDER = `select pid, client_addr::text as address, backend_start::text as since from pg_stat_activity
  where pid in (select pid ${LOCK_ROWS})`;
const VERIFY = `select pg_backend_pid() as pid, exists(select ${LOCK_ROWS} and pid = pg_backend_pid()) as held`;
/** The row that says which process used the database last. */
const READ_OWNER = "select value from meta where name = 'instance_lock'";
const WRITE_OWNER = `insert into meta (name, value) values ('instance_lock', $1)
  on conflict (name) do update set value = excluded.value`;

const OWNER_TOKEN_BYTES = 12;

type InstanceLockOptions = {
  readonly log: Log;
  /** Called once, when another gateway holds the lock or held it while this process did not. */
  readonly onTakenOver?: (() => void) | undefined;
  /** Called when the lock is acquired, lost and acquired again. */
  readonly onChange?: ((isHeld: boolean) => void) | undefined;
  readonly verifyIntervalMs?: number;
};

/**
 * Locks a database for this process: balances are in its memory, and two unaware gateways would spend the same money twice.
 * The session lock ends with the process in any case. It also ends with its connection; then it is reacquired, and until
 * then `isHeld` is false and nothing is written. A process that finds that another one was faster is taken over: it never
 * writes again, because the other one has loaded the balances.
 */
export class InstanceLock {
  readonly #address: DatabaseAddress;
  readonly #options: InstanceLockOptions;
  readonly #ownerToken = randomToken(OWNER_TOKEN_BYTES);
  #isClaimed = false;
  #client: Client | undefined;
  #serverProcess: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReleased = false;

  private constructor(address: DatabaseAddress, options: InstanceLockOptions) {
    this.#address = address;
    this.#options = options;
  }

  static async acquire(address: DatabaseAddress, options: InstanceLockOptions): Promise<InstanceLock> {
    const lock = new InstanceLock(address, options);
    const client = await lock.#connect();
    for (let waitedMs = 0; !(await tryLock(client)); waitedMs += ACQUIRE_RETRY_MS) {
      if (waitedMs >= ACQUIRE_TIMEOUT_MS) {
        const { text } = await findHolder(client);
        await client.end();
        throw new DatabaseInUseError(address, text);
      }
      await sleep(ACQUIRE_RETRY_MS);
    }
    await lock.#hold(client);
    return lock;
  }

  get isHeld(): boolean {
    return this.#client !== undefined;
  }

  /** Records this process as the user of the database. Called before anything is loaded, once the tables exist. */
  async claim(): Promise<void> {
    await this.#client?.query(WRITE_OWNER, [this.#ownerToken]);
    this.#isClaimed = true;
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await awaitClose(client.end());
  }

  async #connect(): Promise<Client> {
    const client = new Client(connectionConfig(this.#address, "default"));
    client.on("error", () => {});
    await client.connect();
    await applySessionSettings(client, "default");
    return client;
  }

  async #hold(client: Client): Promise<void> {
    let hasEnded = false;
    client.on("end", () => {
      hasEnded = true;
      if (this.#client !== client) return;
      this.#client = undefined;
      clearTimeout(this.#timer);
      this.#options.onChange?.(false);
      this.#options.log.warn({ database: this.#address.shown }, "instance-lock: connection lost, lock released");
      this.#schedule(() => this.#reacquire(), REACQUIRE_INTERVAL_MS);
    });
    const { pid, held } = await verify(client);
    if (!held || hasEnded) throw new Error("the lock was lost at once");
    this.#serverProcess = pid;
    this.#client = client;
    this.#options.onChange?.(true);
    this.#scheduleVerification(client);
  }

  #schedule(step: () => Promise<void>, delayMs: number): void {
    if (!this.#isReleased) this.#timer = setTimeout(() => void step(), delayMs).unref();
  }

  #scheduleVerification(client: Client): void {
    this.#schedule(() => this.#verify(client), this.#options.verifyIntervalMs ?? VERIFY_INTERVAL_MS);
  }

  /** A pooler or an administrator may release the lock while the connection stays open. */
  async #verify(client: Client): Promise<void> {
    const isHeld = await verify(client).then(
      ({ held }) => held,
      () => false,
    );
    if (this.#client !== client) return;
    // Without the lock the connection is worthless: its end starts the reacquisition.
    if (isHeld) this.#scheduleVerification(client);
    else await client.end().catch(() => {});
  }

  async #reacquire(): Promise<void> {
    let client: Client | undefined;
    try {
      client = await this.#connect();
      const outcome = await this.#tryReacquire(client);
      if (outcome === "held") return;
      await client.end();
      if (outcome === "taken_over") return;
    } catch (error) {
      this.#options.log.warn({ error: errorText(error) }, "instance-lock: database unreachable, will retry");
      await client?.end().catch(() => {});
    }
    this.#schedule(() => this.#reacquire(), REACQUIRE_INTERVAL_MS);
  }

  async #tryReacquire(client: Client): Promise<"held" | "taken_over" | "retry"> {
    if (!(await tryLock(client))) {
      const { pid, text } = await findHolder(client);
      // Released by now, or held by our own session, which the server has not noticed is gone.
      if (pid === undefined) return "retry";
      if (pid === this.#serverProcess) {
        await client.query("select pg_terminate_backend($1)", [pid]);
        return "retry";
      }
      return this.#reportTakeover(text);
    }
    if (this.#isClaimed && (await readOwner(client)) !== this.#ownerToken) return this.#reportTakeover("");
    if (this.#isReleased) return "retry";
    await this.#hold(client);
    this.#options.log.info({ database: this.#address.shown }, "instance-lock: reacquired");
    return "held";
  }

  #reportTakeover(holder: string): "taken_over" {
    if (this.#isReleased) return "taken_over";
    this.#options.log.error(
      { database: this.#address.shown, holder: holder.trim() },
      "instance-lock: database is in use by another gateway",
    );
    this.#options.onTakenOver?.();
    return "taken_over";
  }
}

async function tryLock(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>(TRY_LOCK);
  return rows[0]?.held === true;
}

async function verify(client: Client): Promise<{ pid: number | undefined; held: boolean }> {
  const { rows } = await client.query<{ pid: number; held: boolean }>(VERIFY);
  return { pid: rows[0]?.pid, held: rows[0]?.held === true };
}

async function readOwner(client: Client): Promise<string | undefined> {
  const { rows } = await client.query<{ value: string }>(READ_OWNER);
  return rows[0]?.value;
}

type LockHolder = { readonly pid: number | undefined; readonly text: string };

/** Address and start are for the error message only; the server hides them from some roles. */
async function findHolder(client: Client): Promise<LockHolder> {
  const { rows } = await client.query<{ pid: number; address: string | null; since: string | null }>(LOCK_HOLDER);
  const { pid, address, since } = rows[0] ?? {};
  const parts = [address ? `at ${address}` : "", since ? `since ${since}` : ""].filter((part) => part !== "");
  return { pid, text: parts.length === 0 ? "" : ` (${parts.join(", ")})` };
}
