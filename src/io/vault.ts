import { createHmac, randomBytes } from "node:crypto";
import type { DataKeyStore, EncryptionContext, Vault, WrappedKey } from "../domain/tenancy/vault.ts";
import { LruMap } from "../kit/lru-map.ts";
import { sealTextSteps, unsealTextSteps } from "../kit/secret.ts";
import { runAtOnce, runInSlices } from "../kit/work-steps.ts";
import { type MasterKeys, VaultError } from "./master-keys.ts";
import type { SharedMasterKeys } from "./shared-master-keys.ts";

const KEY_BYTES = 32;
/** Unwrapped data keys in memory. */
const KEYS_MAX = 10_000;

const associatedDataOf = ({ workspaceId, column, row }: EncryptionContext) =>
  JSON.stringify([workspaceId, column, row]);

export type OpenVault = Vault & {
  /** Resolves when every data key that is being created at the call is in the store. */
  pendingKeysStored(): Promise<void>;
};

/**
 * One data key per workspace, created on first use and wrapped by the current master key. `shared`: other processes use the
 * same key file and may rotate it.
 */
export function openVault(masterKeys: MasterKeys, keys: DataKeyStore, shared?: SharedMasterKeys): OpenVault {
  const unwrapped = new LruMap<string, Promise<Buffer>>(KEYS_MAX);
  const creating = new Set<Promise<WrappedKey>>();
  const createKey = (workspaceId: string): Promise<WrappedKey> => {
    const add = () => keys.add(masterKeys.wrap(workspaceId, randomBytes(KEY_BYTES)));
    const creation = shared === undefined ? add() : shared.withCurrentKeys(add);
    creating.add(creation);
    return creation.finally(() => creating.delete(creation));
  };
  const findKey = async (workspaceId: string): Promise<WrappedKey | undefined> => {
    const key = await keys.find(workspaceId);
    if (shared === undefined || key?.masterKey == null || masterKeys.find(key.masterKey) !== undefined) return key;
    // Another process has rotated the master key.
    await shared.reload();
    return keys.find(workspaceId);
  };
  const loadKey = async (workspaceId: string): Promise<Buffer> =>
    masterKeys.unwrap((await findKey(workspaceId)) ?? (await createKey(workspaceId)));
  const keyOf = (workspaceId: string): Promise<Buffer> => {
    const known = unwrapped.get(workspaceId);
    if (known !== undefined) return known;
    const key = loadKey(workspaceId);
    unwrapped.set(workspaceId, key);
    // A failure is not cached.
    key.catch(() => unwrapped.delete(workspaceId));
    return key;
  };
  return {
    async seal(slot, text, work) {
      const steps = sealTextSteps(await keyOf(slot.workspaceId), text, associatedDataOf(slot));
      return work === undefined ? runAtOnce(steps) : runInSlices(steps, work);
    },
    async open(slot, sealed, work) {
      const steps = unsealTextSteps(await keyOf(slot.workspaceId), sealed, associatedDataOf(slot));
      const text = work === undefined ? runAtOnce(steps) : await runInSlices(steps, work);
      if (text === undefined)
        throw new VaultError(
          `${slot.column} of ${slot.row} cannot be decrypted: it was modified, or belongs to another row`,
        );
      return text;
    },
    async derive(workspaceId, purpose) {
      return createHmac("sha256", await keyOf(workspaceId))
        .update(purpose)
        .digest();
    },
    async pendingKeysStored() {
      await Promise.allSettled(creating);
    },
  };
}

/** Rejects at start when the store was sealed with a master key that is missing here. */
export async function checkMasterKeys(masterKeys: MasterKeys, keys: DataKeyStore): Promise<void> {
  for (const { masterKey } of await keys.counts()) {
    const found = await keys.findWrappedBy(masterKey);
    if (found !== undefined) masterKeys.unwrap(found);
  }
}
