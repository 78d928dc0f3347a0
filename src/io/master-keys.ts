import { createHmac } from "node:crypto";
import type { WrappedKey } from "../domain/tenancy/vault.ts";
import { seal, unseal } from "../kit/secret.ts";
import { VaultError } from "./vault-error.ts";

/** A master key. Its id tells it from others and nothing about it. */
export type MasterKey = { readonly id: string; readonly bytes: Uint8Array };

const ID_CHARS = 16;

const wrapping = (workspaceId: string) => JSON.stringify(["data key", workspaceId]);

/** The id is made with the key, never from it alone: a digest of the key could be looked for elsewhere. */
export function masterKeyOf(bytes: Uint8Array): MasterKey {
  const id = createHmac("sha256", bytes).update("id of a master key").digest("hex").slice(0, ID_CHARS);
  return { id, bytes };
}

/** The master keys of this gateway: one wraps, the others are only read with. */
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

  /** These and no others. */
  load(current: Uint8Array, previous: readonly Uint8Array[]): void {
    this.#current = masterKeyOf(current);
    this.#previous = previous.map(masterKeyOf).filter(({ id }) => id !== this.#current.id);
  }

  /** From now on this one wraps; the one before is kept to read with. */
  promote(key: MasterKey): void {
    this.#previous = [this.#current, ...this.#previous].filter(({ id }) => id !== key.id);
    this.#current = key;
  }

  /** Nothing is read with it any more. The current one stays. */
  remove(id: string): void {
    this.#previous = this.#previous.filter((key) => key.id !== id);
  }

  wrap(workspaceId: string, dataKey: Uint8Array): WrappedKey {
    const { id, bytes } = this.#current;
    return { workspaceId, wrapped: seal(bytes, dataKey, wrapping(workspaceId)), masterKey: id };
  }

  /** Throws a VaultError that says which key is missing. */
  unwrap({ workspaceId, wrapped, masterKey }: WrappedKey): Buffer {
    const all = [this.#current, ...this.#previous];
    const tried = masterKey === null ? all : all.filter(({ id }) => id === masterKey);
    for (const { bytes } of tried) {
      const dataKey = unseal(bytes, wrapped, wrapping(workspaceId));
      if (dataKey !== undefined) return dataKey;
    }
    const why = tried.length === 0 ? `it is wrapped by ${masterKey}` : "it was changed, or is wrapped by another one";
    throw new VaultError(
      `the data key of workspace ${workspaceId} does not open with the master keys of this gateway (${all.map(({ id }) => id).join(", ")}): ${why}. To go on, set GATEWAY_MASTER_KEY, or DATA_DIR/master-key, to the one the store was made with, or add that one to GATEWAY_MASTER_KEY_PREVIOUS`,
    );
  }
}
