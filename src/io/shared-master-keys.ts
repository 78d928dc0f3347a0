import type { MasterKeyFile, StoredMasterKeys } from "./master-key-file.ts";
import { type MasterKeys, masterKeyOf } from "./master-keys.ts";

type SharedMasterKeysDeps = {
  readonly keys: MasterKeys;
  readonly file: Pick<MasterKeyFile, "read">;
  /** Those from the settings, which stay whatever the file says. */
  readonly previous: readonly Uint8Array[];
  /** Runs work while no other process runs its own. */
  withLock<T>(work: () => Promise<T>): Promise<T>;
};

/**
 * The master keys of a process among others that have the same file. What is wrapped is wrapped in turn, by the key that
 * stands there then: one that has left the disk opens nothing after the next start.
 */
export class SharedMasterKeys {
  readonly #parts: SharedMasterKeysDeps;
  #asked = 0;
  #loaded = 0;

  constructor(parts: SharedMasterKeysDeps) {
    this.#parts = parts;
  }

  /** Runs work with the newest keys, which stay the newest until it is over; it is told which one is to leave. */
  withCurrentKeys<T>(work: (leaving: string | undefined) => Promise<T>): Promise<T> {
    return this.#parts.withLock(async () => work(retiringKeyIdOf(await this.#load())));
  }

  /** What another process has changed is known from here on. */
  async reload(): Promise<void> {
    await this.#load();
  }

  async #load(): Promise<StoredMasterKeys> {
    const { keys, file, previous } = this.#parts;
    this.#asked += 1;
    const asked = this.#asked;
    const kept = await file.read();
    // What was read earlier is not put over what was read later.
    if (asked > this.#loaded) {
      this.#loaded = asked;
      keys.load(kept.current, [...kept.previous, ...previous]);
    }
    return kept;
  }
}

/** The id of the key that the file holds beside the current one. */
export function retiringKeyIdOf({ previous: [bytes] }: StoredMasterKeys): string | undefined {
  return bytes === undefined ? undefined : masterKeyOf(bytes).id;
}
