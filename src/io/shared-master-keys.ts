import type { MasterKeyFile, StoredMasterKeys } from "./master-key-file.ts";
import { type MasterKeys, masterKeyOf } from "./master-keys.ts";

type SharedMasterKeysDeps = {
  readonly keys: MasterKeys;
  readonly file: Pick<MasterKeyFile, "read">;
  /** From the settings: they stay, whatever the file has. */
  readonly previous: readonly Uint8Array[];
  /** Runs work while no other process holds the same lock. */
  withLock<T>(work: () => Promise<T>): Promise<T>;
};

/**
 * The master keys of several processes with one key file. Data keys are wrapped under a lock, by the key that is in the
 * file then: one that has left the disk could not unwrap them after the next start.
 */
export class SharedMasterKeys {
  readonly #deps: SharedMasterKeysDeps;
  #reads = 0;
  #loadedRead = 0;

  constructor(deps: SharedMasterKeysDeps) {
    this.#deps = deps;
  }

  /** Runs work under the lock with the newest keys; `retiringKeyId` is the one that a rotation replaces. */
  withCurrentKeys<T>(work: (retiringKeyId: string | undefined) => Promise<T>): Promise<T> {
    return this.#deps.withLock(async () => work(retiringKeyIdOf(await this.#load())));
  }

  /** Loads what another process changed. */
  async reload(): Promise<void> {
    await this.#load();
  }

  async #load(): Promise<StoredMasterKeys> {
    const { keys, file, previous } = this.#deps;
    this.#reads += 1;
    const read = this.#reads;
    const stored = await file.read();
    // An earlier read must not overwrite a later one.
    if (read > this.#loadedRead) {
      this.#loadedRead = read;
      keys.load(stored.current, [...stored.previous, ...previous]);
    }
    return stored;
  }
}

/** Undefined when no rotation is in progress. */
export function retiringKeyIdOf({ previous: [bytes] }: StoredMasterKeys): string | undefined {
  return bytes === undefined ? undefined : masterKeyOf(bytes).id;
}
