import { Client, DatabaseError } from "pg";
import { StoreError } from "../store-error.ts";
import type { DatabaseAddress } from "./address.ts";
import { connectionTo } from "./pool.ts";

/** How often a server that said nothing is looked for. */
const LOOK_EVERY_MS = 1_000;

/**
 * Tells a statement that takes long from a server that says nothing any more: frozen, or behind a network that swallows
 * everything, it keeps its connections open. Who has waited for half of the time looks whether it answers a newcomer
 * within the other half. If not, everything that waits is given up, and what comes is refused at once until it is back.
 */
export class Pulse {
  readonly #address: DatabaseAddress;
  readonly #halfMs: number;
  #looking: Promise<boolean> | undefined;
  #isSilent = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(address: DatabaseAddress, silenceMs: number) {
    this.#address = address;
    this.#halfMs = Math.ceil(silenceMs / 2);
  }

  /** The same, given up when the server is found silent. What becomes of it then is nobody's business any more. */
  during<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      let isOver = false;
      const look = async () => {
        if (!this.#isSilent && (await this.#isThere())) wait();
        else reject(silence());
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
      if (this.#isSilent) reject(silence());
      else wait();
    });
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** One look at a time, whoever asks. */
  #isThere(): Promise<boolean> {
    this.#looking ??= answers(this.#address, this.#halfMs).then((isThere) => {
      this.#looking = undefined;
      this.#isSilent = !isThere;
      if (!isThere) this.#lookAgain();
      return isThere;
    });
    return this.#looking;
  }

  #lookAgain(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#isThere(), LOOK_EVERY_MS).unref();
  }
}

function silence(): StoreError {
  return new StoreError("unavailable", "the database says nothing any more");
}

/** Whatever it says, it is there: also that it has no room for one more. */
async function answers(address: DatabaseAddress, withinMs: number): Promise<boolean> {
  const client = new Client({ ...connectionTo(address, "patient"), connectionTimeoutMillis: withinMs });
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
