import { Client, DatabaseError } from "pg";
import { StoreError } from "../store-error.ts";
import type { DatabaseAddress } from "./address.ts";
import { connectionConfig } from "./pool.ts";

/** How often a server that said nothing is looked for. */
const PROBE_INTERVAL_MS = 1_000;

/**
 * Tells a statement that takes long from a server that says nothing any more: frozen, or behind a network that swallows
 * everything, it keeps its connections open. Who has waited for half of the time looks whether it answers a newcomer
 * within the other half. If not, everything that waits is given up, and what comes is refused at once until it is back.
 */
export class DatabaseHealthProbe {
  readonly #address: DatabaseAddress;
  readonly #halfMs: number;
  #probing: Promise<boolean> | undefined;
  #isUnresponsive = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(address: DatabaseAddress, silenceMs: number) {
    this.#address = address;
    this.#halfMs = Math.ceil(silenceMs / 2);
  }

  /** The same, given up when the server is found silent. What becomes of it then is nobody's business any more. */
  guard<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      let isOver = false;
      const look = async () => {
        if (!this.#isUnresponsive && (await this.#probe())) wait();
        else reject(unresponsiveError());
      };
      const wait = () => {
        // It may have been answered while somebody looked.
        if (!isOver) timer = setTimeout(() => void look(), this.#halfMs);
      };
      const over = () => {
        isOver = true;
        clearTimeout(timer);
      };
      work.then(resolve, reject).finally(over);
      if (this.#isUnresponsive) reject(unresponsiveError());
      else wait();
    });
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** One look at a time, whoever asks. */
  #probe(): Promise<boolean> {
    this.#probing ??= canConnect(this.#address, this.#halfMs).then((isThere) => {
      this.#probing = undefined;
      this.#isUnresponsive = !isThere;
      if (!isThere) this.#scheduleProbe();
      return isThere;
    });
    return this.#probing;
  }

  #scheduleProbe(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#probe(), PROBE_INTERVAL_MS).unref();
  }
}

function unresponsiveError(): StoreError {
  return new StoreError("unavailable", "the database says nothing any more");
}

/** Whatever it says, it is there: also that it has no room for one more. */
async function canConnect(address: DatabaseAddress, withinMs: number): Promise<boolean> {
  const client = new Client({ ...connectionConfig(address, "patient"), connectionTimeoutMillis: withinMs });
  client.on("error", () => {});
  try {
    await client.connect();
    return true;
  } catch (error) {
    return error instanceof DatabaseError;
  } finally {
    client.end().catch(() => {});
  }
}
