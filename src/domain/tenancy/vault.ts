/** Where something sealed belongs: it opens in no other workspace, column or row. */
export type EncryptionContext = { readonly workspaceId: string; readonly column: string; readonly row: string };

/** Not a workspace: what belongs to the gateway itself has a data key like theirs. */
export const GATEWAY_DATA_KEY = "gateway";

/** Seals what a workspace keeps, with a key of its own. */
export type Vault = {
  seal(context: EncryptionContext, text: string): Promise<Uint8Array>;
  /** Rejects when it was sealed elsewhere, was changed, or the master key is another one. */
  open(context: EncryptionContext, sealed: Uint8Array): Promise<string>;
};

/** A data key as it is kept. `masterKey` is the id of the key that wrapped it; null: from before ids were kept. */
export type WrappedKey = {
  readonly workspaceId: string;
  readonly wrapped: Uint8Array;
  readonly masterKey: string | null;
};

/** The same data key, wrapped by another master key. */
export type DataKeyRewrap = { readonly before: WrappedKey; readonly after: WrappedKey };

/** How many data keys a master key has wrapped. */
export type WrappedKeyCount = { readonly masterKey: string | null; readonly dataKeys: number };

/** The data keys of workspaces, each wrapped by a master key. */
export type DataKeyStore = {
  find(workspaceId: string): Promise<WrappedKey | undefined>;
  /** Keeps the first one: answers the key that is there now, whoever wrote it. */
  add(key: WrappedKey): Promise<WrappedKey>;
  /** How many there are of each master key. */
  counts(): Promise<WrappedKeyCount[]>;
  /** Any one that this master key wrapped. */
  findWrappedBy(masterKey: string | null): Promise<WrappedKey | undefined>;
  /** In the order of their workspaces, from after `afterWorkspaceId` on. */
  listNotWrappedBy(masterKey: string, afterWorkspaceId: string, limit: number): Promise<WrappedKey[]>;
};

/** Changes of data keys that are written together with their line in the audit log. */
export type DataKeyWriter = {
  /** Puts `after` in the place of `before` where that still stands; answers how many did. */
  rewrap(keys: readonly DataKeyRewrap[]): Promise<number>;
};
