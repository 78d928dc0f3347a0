import { type Cipheriv, createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import path from "node:path";
import { fault } from "../../contract/faults.ts";

/** Longer files are spooled to disk. */
export const SPOOL_MEMORY_MAX_BYTES = 256 * 1024;
const READ_BYTES = 64 * 1024;
const BLOCK_BYTES = 64 * 1024;
const CIPHER = "aes-256-ctr";
const KEY_BYTES = 32;
const NONCE_BYTES = 16;

/** The bytes that all uploads of the process may hold together, in memory and on disk. */
export class UploadQuota {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False if the quota is exhausted; nothing is reserved then. */
  tryReserve(bytes: number): boolean {
    if (this.#bytes + bytes > this.#maxBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}

export type SpoolStorage = {
  readonly folder: string;
  /** The disk is below its free-space reserve. */
  readonly isFull: () => boolean;
  readonly quota: UploadQuota;
};

export const SPOOL_PREFIX = "upload-";

/**
 * An uploaded file, kept until its request ends so that every attempt can read it from the start. On disk it is encrypted
 * with a key that only this process has, in an unlinked file: nothing remains when the process exits or crashes.
 */
export class UploadSpool {
  readonly #storage: SpoolStorage;
  /** Complete blocks in memory; empty once there is a file. */
  #blocks: Buffer[] = [];
  /** The block being filled: without it, a client that sends single bytes would create a buffer for each. */
  #block = Buffer.alloc(0);
  #blockBytes = 0;
  #bytes = 0;
  #disk: EncryptedSpoolFile | undefined;
  #closed = false;

  constructor(storage: SpoolStorage) {
    this.#storage = storage;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns undefined if the write completed synchronously. Calls must not overlap. Throws if the quota is exhausted. */
  add(chunk: Buffer): Promise<void> | undefined {
    if (this.#closed) return undefined;
    if (!this.#storage.quota.tryReserve(chunk.length))
      throw uploadStorageFull("all uploads together reached their size limit");
    this.#bytes += chunk.length;
    this.#append(chunk);
    const fitsInMemory = this.#disk === undefined && this.#bytes <= SPOOL_MEMORY_MAX_BYTES;
    return fitsInMemory || this.#blocks.length === 0 ? undefined : this.#spill();
  }

  async *read(): AsyncGenerator<Buffer> {
    if (this.#closed) throw new Error("an upload was read after its request had ended");
    if (this.#disk === undefined) yield* this.#blocks;
    else yield* this.#disk.read();
    if (this.#blockBytes > 0) yield this.#block.subarray(0, this.#blockBytes);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#storage.quota.release(this.#bytes);
    this.#blocks = [];
    this.#block = Buffer.alloc(0);
    this.#blockBytes = 0;
    this.#disk?.close();
  }

  #append(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#block.length === 0) this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      const copied = chunk.copy(this.#block, this.#blockBytes, at);
      at += copied;
      this.#blockBytes += copied;
      if (this.#blockBytes < BLOCK_BYTES) return;
      this.#blocks.push(this.#block);
      this.#block = Buffer.alloc(0);
      this.#blockBytes = 0;
    }
  }

  async #spill(): Promise<void> {
    if (this.#storage.isFull()) throw uploadStorageFull("the free disk space is below its limit");
    try {
      this.#disk ??= await EncryptedSpoolFile.open(this.#storage.folder);
      for (const block of this.#blocks.splice(0)) await this.#disk.write(block);
    } catch (error) {
      throw uploadStorageFull(String(error));
    } finally {
      if (this.#closed) this.#disk?.close();
    }
  }
}

class EncryptedSpoolFile {
  readonly #file: FileHandle;
  readonly #key = randomBytes(KEY_BYTES);
  readonly #nonce = randomBytes(NONCE_BYTES);
  readonly #cipher: Cipheriv;
  #bytes = 0;
  #closed = false;

  private constructor(file: FileHandle) {
    this.#file = file;
    this.#cipher = createCipheriv(CIPHER, this.#key, this.#nonce);
  }

  static async open(folder: string): Promise<EncryptedSpoolFile> {
    const name = path.join(folder, `${SPOOL_PREFIX}${randomBytes(12).toString("hex")}`);
    const file = await open(name, "wx+", 0o600);
    try {
      await unlink(name);
    } catch (error) {
      await file.close();
      throw error;
    }
    return new EncryptedSpoolFile(file);
  }

  async write(chunk: Buffer): Promise<void> {
    const encrypted = this.#cipher.update(chunk);
    for (let at = 0; at < encrypted.length; ) {
      const { bytesWritten } = await this.#file.write(encrypted, at, encrypted.length - at, this.#bytes);
      at += bytesWritten;
      this.#bytes += bytesWritten;
    }
  }

  async *read(): AsyncGenerator<Buffer> {
    const decipher = createDecipheriv(CIPHER, this.#key, this.#nonce);
    for (let at = 0; at < this.#bytes; ) {
      const block = Buffer.allocUnsafe(Math.min(READ_BYTES, this.#bytes - at));
      const { bytesRead } = await this.#file.read(block, 0, block.length, at);
      if (bytesRead === 0) throw new Error("an upload is shorter on disk than expected");
      at += bytesRead;
      yield decipher.update(block.subarray(0, bytesRead));
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#key.fill(0);
    // The close waits for reads and writes in flight.
    this.#file.close().catch(() => undefined);
  }
}

/** `cause` goes to the log only. */
function uploadStorageFull(cause: string) {
  return fault("service_unavailable", {
    message: "The gateway cannot accept uploads at the moment. Try again shortly.",
    headers: { "retry-after": "5" },
    detail: { cause },
  });
}
