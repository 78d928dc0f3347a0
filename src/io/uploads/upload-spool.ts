import { type Cipheriv, createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import path from "node:path";
import { type UploadQuota, uploadStorageFull } from "./upload-quota.ts";

/** So much of a file is held in memory; what is longer goes to disk. */
export const SPOOL_MEMORY_MAX_BYTES = 256 * 1024;
const READ_BYTES = 64 * 1024;
const BLOCK_BYTES = 64 * 1024;
const CIPHER = "aes-256-ctr";
const KEY_BYTES = 32;
const NONCE_BYTES = 16;

/** Where uploads wait that are too long for the memory. */
export type SpoolStorage = {
  readonly folder: string;
  /** The disk has no room for more. */
  readonly isFull: () => boolean;
  /** Shared by all uploads. */
  readonly quota: UploadQuota;
};

export const SPOOL_PREFIX = "upload-";

/**
 * An upload that is kept until its request is over, to be read from the beginning as often as somebody has to be asked.
 * On disk it is sealed with a key that only this process has, in a file that has no name any more: nothing is left of
 * it when the process ends, however it ends.
 */
export class UploadSpool {
  readonly #room: SpoolStorage;
  /** Whole blocks that are in memory: all of them until there is a file, then none. */
  #blocks: Buffer[] = [];
  /** The block that is being filled. Who sends a byte at a time would otherwise make a buffer of each. */
  #block = Buffer.alloc(0);
  #blockBytes = 0;
  #bytes = 0;
  #disk: EncryptedSpoolFile | undefined;
  #closed = false;

  constructor(room: SpoolStorage) {
    this.#room = room;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Undefined when it is done already; one call after the other. Throws when all uploads together have no room. */
  add(chunk: Buffer): Promise<void> | undefined {
    if (this.#closed) return undefined;
    if (!this.#room.quota.tryReserve(chunk.length))
      throw uploadStorageFull("all uploads together are as large as they may be");
    this.#bytes += chunk.length;
    this.#gather(chunk);
    const fits = this.#disk === undefined && this.#bytes <= SPOOL_MEMORY_MAX_BYTES;
    return fits || this.#blocks.length === 0 ? undefined : this.#spill();
  }

  async *read(): AsyncGenerator<Buffer> {
    if (this.#closed) throw new Error("an upload is read after its request was over");
    if (this.#disk === undefined) yield* this.#blocks;
    else yield* this.#disk.read();
    if (this.#blockBytes > 0) yield this.#block.subarray(0, this.#blockBytes);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#room.quota.release(this.#bytes);
    this.#blocks = [];
    this.#block = Buffer.alloc(0);
    this.#blockBytes = 0;
    this.#disk?.close();
  }

  #gather(chunk: Buffer): void {
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
    if (this.#room.isFull()) throw uploadStorageFull("the disk has less free space than is to be left");
    try {
      this.#disk ??= await EncryptedSpoolFile.open(this.#room.folder);
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
    const sealed = this.#cipher.update(chunk);
    for (let at = 0; at < sealed.length; ) {
      const { bytesWritten } = await this.#file.write(sealed, at, sealed.length - at, this.#bytes);
      at += bytesWritten;
      this.#bytes += bytesWritten;
    }
  }

  async *read(): AsyncGenerator<Buffer> {
    const decipher = createDecipheriv(CIPHER, this.#key, this.#nonce);
    for (let at = 0; at < this.#bytes; ) {
      const piece = Buffer.allocUnsafe(Math.min(READ_BYTES, this.#bytes - at));
      const { bytesRead } = await this.#file.read(piece, 0, piece.length, at);
      if (bytesRead === 0) throw new Error("an upload is shorter on disk than it was");
      at += bytesRead;
      yield decipher.update(piece.subarray(0, bytesRead));
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#key.fill(0);
    // Waits for what is being read or written.
    this.#file.close().catch(() => undefined);
  }
}
