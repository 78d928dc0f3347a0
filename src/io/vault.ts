import { randomBytes } from "node:crypto";
import type { DataKeyStore, EncryptionContext, Vault, WrappedKey } from "../domain/tenancy/vault.ts";
import { LruMap } from "../kit/lru-map.ts";
import { seal, unseal } from "../kit/secret.ts";
import type { MasterKeys } from "./master-keys.ts";
import type { SharedMasterKeys } from "./shared-master-keys.ts";
import { VaultError } from "./vault-error.ts";

const KEY_BYTES = 32;
/** Opened keys that are kept in memory. */
const KEYS_MAX = 10_000;

const placeOf = ({ workspaceId, column, row }: EncryptionContext) => JSON.stringify([workspaceId, column, row]);

export type OpenVault = Vault & {
  /** Resolves when every data key that is being made at the call stands in the store. */
  pendingKeysStored(): Promise<void>;
};

/**
 * One data key per workspace, made when it is first needed and wrapped by the current master key. `shared` where other
 * processes have the same file of it, and may change it.
 */
export function openVault(masterKeys: MasterKeys, keys: DataKeyStore, shared?: SharedMasterKeys): OpenVault {
  const opened = new LruMap<string, Promise<Buffer>>(KEYS_MAX);
  const adding = new Set<Promise<WrappedKey>>();
  const added = (workspaceId: string): Promise<WrappedKey> => {
    const add = () => keys.add(masterKeys.wrap(workspaceId, randomBytes(KEY_BYTES)));
    const adds = shared === undefined ? add() : shared.withCurrentKeys(add);
    adding.add(adds);
    return adds.finally(() => adding.delete(adds));
  };
  const found = async (workspaceId: string): Promise<WrappedKey | undefined> => {
    const key = await keys.find(workspaceId);
    if (shared === undefined || key?.masterKey == null || masterKeys.find(key.masterKey) !== undefined) return key;
    // Another process has changed the master key, and goes on wrapping.
    await shared.reload();
    return keys.find(workspaceId);
  };
  const fetched = async (workspaceId: string): Promise<Buffer> =>
    masterKeys.unwrap((await found(workspaceId)) ?? (await added(workspaceId)));
  const keyOf = (workspaceId: string): Promise<Buffer> => {
    const known = opened.get(workspaceId);
    if (known !== undefined) return known;
    const key = fetched(workspaceId);
    opened.set(workspaceId, key);
    // What failed is tried again the next time.
    key.catch(() => opened.delete(workspaceId));
    return key;
  };
  return {
    async seal(slot, text) {
      return seal(await keyOf(slot.workspaceId), Buffer.from(text), placeOf(slot));
    },
    async open(slot, sealed) {
      const text = unseal(await keyOf(slot.workspaceId), sealed, placeOf(slot));
      if (text === undefined)
        throw new VaultError(`${slot.column} of ${slot.row} does not open: it was changed, or belongs elsewhere`);
      return text.toString("utf8");
    },
    async pendingKeysStored() {
      await Promise.allSettled(adding);
    },
  };
}

/** Rejects when the store was sealed with a master key that is not here, so that nobody finds out by a request. */
export async function checkMasterKeys(masterKeys: MasterKeys, keys: DataKeyStore): Promise<void> {
  for (const { masterKey } of await keys.counts()) {
    const found = await keys.findWrappedBy(masterKey);
    if (found !== undefined) masterKeys.unwrap(found);
  }
}
