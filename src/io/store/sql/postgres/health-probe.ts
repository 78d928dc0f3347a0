import { Client, DatabaseError } from "pg";
import { StoreError } from "../store-error.ts";
import type { DatabaseAddress } from "./address.ts";
import { connectionConfig } from "./pool.ts";

const PROBE_INTERVAL_MS = 1_000;

/**
 * Distinguishes a slow statement from an unresponsive server (frozen, or behind a network that drops packets), which keeps its
 * connections open. After half of the time a new connection is probed within the other half. If the probe fails, all pending
 * work is rejected, and new work fails fast until a probe succeeds.
 */
export class DatabaseHealthProbe {
  readonly #address: DatabaseAddress;
  readonly #halfMs: number;
  #probing: Promise<boolean> | undefined;
  #isUnresponsive = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(address: DatabaseAddress, unresponsiveMs: number) {
    this.#address = address;
    this.#halfMs = Math.ceil(unresponsiveMs / 2);
  }

  /** Rejects when the server is found unresponsive; the result of `work` is then ignored. */
  guard<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      let isOver = false;
      const check = async () => {
        if (!this.#isUnresponsive && (await this.#probe())) wait();
        else reject(unresponsiveError());
      };
      const wait = () => {
        // The work may have completed during the probe.
        if (!isOver) timer = setTimeout(() => void check(), this.#halfMs);
      };
      const finish = () => {
        isOver = true;
        clearTimeout(timer);
      };
      work.then(resolve, reject).finally(finish);
      if (this.#isUnresponsive) reject(unresponsiveError());
      else wait();
    });
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Concurrent callers share one probe. */
  #probe(): Promise<boolean> {
    this.#probing ??= canConnect(this.#address, this.#halfMs).then((isResponsive) => {
      this.#probing = undefined;
      this.#isUnresponsive = !isResponsive;
      if (!isResponsive) this.#scheduleProbe();
      return isResponsive;
    });
    return this.#probing;
  }

  #scheduleProbe(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#probe(), PROBE_INTERVAL_MS).unref();
  }
}

function unresponsiveError(): StoreError {
  return new StoreError("unavailable", "the database does not respond");
}

/** Any answer of the server counts, including "too many connections". */
async function canConnect(address: DatabaseAddress, withinMs: number): Promise<boolean> {
  const client = new Client({ ...connectionConfig(address, "long_running"), connectionTimeoutMillis: withinMs });
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
