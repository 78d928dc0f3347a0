import { readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import {
  generateMasterKey,
  loadOrCreateSecretFile,
  parseMasterKey,
  readSecret,
  syncDirectory,
  writeTempFile,
} from "./secret-files.ts";

/** The file does not hold what it should; the message says which. */
class MasterKeyFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MasterKeyFileError";
  }
}

/** Steps of a change of the file, each of them on the disk once it is named. */
export type RotationStep = "key written" | "key beside" | "key in place";

/** The key that wraps, and the one before it when a change was begun. */
export type StoredMasterKeys = { readonly current: Buffer; readonly previous: readonly Buffer[] };

/**
 * The generated master key in its file. A new one stands beside it, as `master-key.next`, for as long as data keys
 * need both; then it takes the old one's place in one step of the file system. Whenever the process ends, the files
 * that are left open everything.
 */
export class MasterKeyFile {
  readonly #file: string;
  readonly #next: string;
  readonly #onStep: (step: RotationStep) => void;

  constructor(dataDir: string, stepped: (step: RotationStep) => void = () => undefined) {
    this.#file = path.join(dataDir, "master-key");
    this.#next = `${this.#file}.next`;
    this.#onStep = stepped;
  }

  /** The keys that stand there. The first start makes one. */
  async open(): Promise<StoredMasterKeys> {
    await loadOrCreateSecretFile(this.#file, generateMasterKey);
    await this.#removeTempFiles();
    return this.read();
  }

  /** Also while another process changes the file. */
  async read(): Promise<StoredMasterKeys> {
    // First what stands beside: it takes the other one's place in one step, and must not be missed in both.
    const next = await readSecret(this.#next);
    const kept = (await readSecret(this.#file)) ?? "";
    if (next === undefined || next === kept) return { current: bytesOf(this.#file, kept), previous: [] };
    return { current: bytesOf(this.#next, next), previous: [bytesOf(this.#file, kept)] };
  }

  /** What a crash left of a key that never came into use, or another start has no use for now that there is one. */
  async #removeTempFiles(): Promise<void> {
    const folder = path.dirname(this.#file);
    for (const name of await readdir(folder))
      if (name.startsWith("master-key.") && name.endsWith(".tmp")) await rm(path.join(folder, name), { force: true });
  }

  /** A new key beside the old one. */
  async stageNext(): Promise<Buffer> {
    const text = generateMasterKey();
    const fresh = await writeTempFile(this.#next, text);
    this.#onStep("key written");
    await rename(fresh, this.#next);
    await syncDirectory(path.dirname(this.#next));
    this.#onStep("key beside");
    return bytesOf(this.#next, text);
  }

  /** Undoes `begin`, while nothing is wrapped by the new key yet. */
  async discardNext(): Promise<void> {
    await rm(this.#next, { force: true });
    await syncDirectory(path.dirname(this.#next));
  }

  /** The new key is the only one from here on: to be called when nothing needs the old one. */
  async promoteNext(): Promise<void> {
    await rename(this.#next, this.#file);
    await syncDirectory(path.dirname(this.#file));
    this.#onStep("key in place");
  }
}

function bytesOf(file: string, text: string): Buffer {
  const bytes = parseMasterKey(text);
  if (bytes !== undefined) return bytes;
  throw new MasterKeyFileError(`${file} holds no master key: write 32 bytes in base64 or hex into it`);
}
