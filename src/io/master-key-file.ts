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

class MasterKeyFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MasterKeyFileError";
  }
}

/** Steps of a rotation; each is durable when it is reported. */
export type RotationStep = "key written" | "key beside" | "key in place";

/** `previous` is not empty while a rotation is in progress. */
export type StoredMasterKeys = { readonly current: Buffer; readonly previous: readonly Buffer[] };

/**
 * The generated master key in its file. During a rotation the new key is in `master-key.next`, until every data key is
 * wrapped by it; then it replaces the old file atomically. After a crash at any point, the files open every data key.
 */
export class MasterKeyFile {
  readonly #file: string;
  readonly #next: string;
  readonly #onStep: (step: RotationStep) => void;

  constructor(dataDir: string, onStep: (step: RotationStep) => void = () => undefined) {
    this.#file = path.join(dataDir, "master-key");
    this.#next = `${this.#file}.next`;
    this.#onStep = onStep;
  }

  /** The first start generates a key. */
  async open(): Promise<StoredMasterKeys> {
    await loadOrCreateSecretFile(this.#file, generateMasterKey);
    await this.#removeTempFiles();
    return this.read();
  }

  /** Safe while another process rotates the key. */
  async read(): Promise<StoredMasterKeys> {
    // The next file first: in the other order, a rename in between would hide the new key from both reads.
    const next = await readSecret(this.#next);
    const stored = (await readSecret(this.#file)) ?? "";
    if (next === undefined || next === stored) return { current: bytesOf(this.#file, stored), previous: [] };
    return { current: bytesOf(this.#next, next), previous: [bytesOf(this.#file, stored)] };
  }

  /** Files of crashed or concurrent starts whose key was never used. */
  async #removeTempFiles(): Promise<void> {
    const folder = path.dirname(this.#file);
    for (const name of await readdir(folder))
      if (name.startsWith("master-key.") && name.endsWith(".tmp")) await rm(path.join(folder, name), { force: true });
  }

  /** Generates the next key. */
  async stageNext(): Promise<Buffer> {
    const text = generateMasterKey();
    const tempFile = await writeTempFile(this.#next, text);
    this.#onStep("key written");
    await rename(tempFile, this.#next);
    await syncDirectory(path.dirname(this.#next));
    this.#onStep("key beside");
    return bytesOf(this.#next, text);
  }

  /** Only while no data key is wrapped by the next key. */
  async discardNext(): Promise<void> {
    await rm(this.#next, { force: true });
    await syncDirectory(path.dirname(this.#next));
  }

  /** Only when every data key is wrapped by the next key. */
  async promoteNext(): Promise<void> {
    await rename(this.#next, this.#file);
    await syncDirectory(path.dirname(this.#file));
    this.#onStep("key in place");
  }
}

function bytesOf(file: string, text: string): Buffer {
  const bytes = parseMasterKey(text);
  if (bytes !== undefined) return bytes;
  throw new MasterKeyFileError(`${file} does not contain a master key: must be 32 bytes in base64 or hex to it`);
}
