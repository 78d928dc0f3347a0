import { createHmac } from "node:crypto";
import type { WrappedKey } from "../domain/tenancy/vault.ts";
import { seal, unseal } from "../kit/secret.ts";

/** Sealed data does not open. The message says what to do and nothing of the content. */
export class VaultError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "VaultError";
  }
}

/** The id identifies the key and reveals nothing about it. */
export type MasterKey = { readonly id: string; readonly bytes: Uint8Array };

const ID_CHARS = 16;

const associatedData = (workspaceId: string) => JSON.stringify(["data key", workspaceId]);

/** An HMAC with the key, because a plain digest of the key could be looked up. */
export function masterKeyOf(bytes: Uint8Array): MasterKey {
  const id = createHmac("sha256", bytes).update("id of a master key").digest("hex").slice(0, ID_CHARS);
  return { id, bytes };
}

/** The current master key wraps data keys; the previous ones only unwrap. */
export class MasterKeys {
  #current: MasterKey;
  #previous: readonly MasterKey[];

  constructor(current: Uint8Array, previous: readonly Uint8Array[] = []) {
    this.#current = masterKeyOf(current);
    this.#previous = previous.map(masterKeyOf).filter(({ id }) => id !== this.#current.id);
  }

  get current(): MasterKey {
    return this.#current;
  }

  get previous(): readonly MasterKey[] {
    return this.#previous;
  }

  find(id: string): MasterKey | undefined {
    return [this.#current, ...this.#previous].find((key) => key.id === id);
  }

  /** Replaces all keys. */
  load(current: Uint8Array, previous: readonly Uint8Array[]): void {
    this.#current = masterKeyOf(current);
    this.#previous = previous.map(masterKeyOf).filter(({ id }) => id !== this.#current.id);
  }

  /** Makes this key the current one; the old one stays to unwrap. */
  promote(key: MasterKey): void {
    this.#previous = [this.#current, ...this.#previous].filter(({ id }) => id !== key.id);
    this.#current = key;
  }

  /** Never removes the current key. */
  remove(id: string): void {
    this.#previous = this.#previous.filter((key) => key.id !== id);
  }

  wrap(workspaceId: string, dataKey: Uint8Array): WrappedKey {
    const { id, bytes } = this.#current;
    return { workspaceId, wrapped: seal(bytes, dataKey, associatedData(workspaceId)), masterKey: id };
  }

  /** Throws a `VaultError` that names the missing key. */
  unwrap({ workspaceId, wrapped, masterKey }: WrappedKey): Buffer {
    const all = [this.#current, ...this.#previous];
    const candidates = masterKey === null ? all : all.filter(({ id }) => id === masterKey);
    for (const { bytes } of candidates) {
      const dataKey = unseal(bytes, wrapped, associatedData(workspaceId));
      if (dataKey !== undefined) return dataKey;
    }
    const why =
      candidates.length === 0
        ? `it is wrapped by ${masterKey}`
        : "it was modified, or is wrapped by another master key";
    throw new VaultError(
      `the data key of workspace ${workspaceId} cannot be decrypted with the master keys of this gateway (${all.map(({ id }) => id).join(", ")}): ${why}. Set GATEWAY_MASTER_KEY, or DATA_DIR/master-key, to the key that the store was created with, or add that key to GATEWAY_MASTER_KEY_PREVIOUS`,
    );
  }
}
