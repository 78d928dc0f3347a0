/** Where something sealed belongs: it opens in no other workspace, column or row. */
export type Slot = { readonly workspaceId: string; readonly column: string; readonly row: string };

/** Seals what a workspace keeps, with a key of its own. */
export type Vault = {
  seal(slot: Slot, text: string): Promise<Uint8Array>;
  /** Rejects when it was sealed elsewhere, was changed, or the master key is another one. */
  open(slot: Slot, sealed: Uint8Array): Promise<string>;
};

/** The data keys of workspaces, each wrapped by the master key. */
export type DataKeyStore = {
  find(workspaceId: string): Promise<Uint8Array | undefined>;
  /** Keeps the first one: answers the key that is there now, whoever wrote it. */
  add(workspaceId: string, wrapped: Uint8Array): Promise<Uint8Array>;
  /** Any one of them, with its workspace; undefined when there is none. */
  any(): Promise<{ readonly workspaceId: string; readonly wrapped: Uint8Array } | undefined>;
};
