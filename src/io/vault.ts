import { randomBytes } from "node:crypto";
import type { DataKeyStore, Slot, Vault } from "../domain/tenancy/vault.ts";
import { BoundedMap } from "../kit/bounded.ts";
import { seal, unseal } from "../kit/secret.ts";

/** Something sealed does not open. The message says what to do and nothing of what was in it. */
export class VaultError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "VaultError";
  }
}

const KEY_BYTES = 32;
/** Opened keys that are kept in memory. */
const KEYS_MAX = 10_000;

const wrapping = (workspaceId: string) => JSON.stringify(["data key", workspaceId]);
const placeOf = ({ workspaceId, column, row }: Slot) => JSON.stringify([workspaceId, column, row]);

/** One data key per workspace, made when it is first needed and wrapped by the master key. */
export function openVault(masterKey: Uint8Array, keys: DataKeyStore): Vault {
  const opened = new BoundedMap<string, Promise<Buffer>>(KEYS_MAX);
  const fetched = async (workspaceId: string): Promise<Buffer> => {
    const wrapped =
      (await keys.find(workspaceId)) ??
      (await keys.add(workspaceId, seal(masterKey, randomBytes(KEY_BYTES), wrapping(workspaceId))));
    return unwrapped(masterKey, workspaceId, wrapped);
  };
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
  };
}

/** Rejects when the store was sealed with another master key, so that nobody finds out by a request. */
export async function checkMasterKey(masterKey: Uint8Array, keys: DataKeyStore): Promise<void> {
  const found = await keys.any();
  if (found !== undefined) unwrapped(masterKey, found.workspaceId, found.wrapped);
}

function unwrapped(masterKey: Uint8Array, workspaceId: string, wrapped: Uint8Array): Buffer {
  const key = unseal(masterKey, wrapped, wrapping(workspaceId));
  if (key !== undefined) return key;
  throw new VaultError(
    `the data key of workspace ${workspaceId} does not open with this master key: set GATEWAY_MASTER_KEY, or DATA_DIR/master-key, to the one the store was made with`,
  );
}
