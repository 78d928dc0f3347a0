import type { SlicedWork } from "../../kit/event-loop-turns.ts";

/** The place that a ciphertext is bound to: it decrypts in no other workspace, column or row. */
export type EncryptionContext = { readonly workspaceId: string; readonly column: string; readonly row: string };

/** The workspace id under which the gateway's own secrets are encrypted. */
export const GATEWAY_DATA_KEY = "gateway";

/** Encrypts secrets with a data key per workspace; with `work`, a long text in slices of event-loop turns. */
export type Vault = {
  seal(context: EncryptionContext, text: string, work?: SlicedWork): Promise<Uint8Array>;
  /** Rejects if the context differs, the ciphertext was changed, or the master key is missing. */
  open(context: EncryptionContext, sealed: Uint8Array, work?: SlicedWork): Promise<string>;
  /** A key of the workspace for one purpose; it tells nothing about the data key. */
  derive(workspaceId: string, purpose: string): Promise<Buffer>;
};

/** A stored data key. `masterKey` is the id of the wrapping key; null: wrapped before ids were stored. */
export type WrappedKey = {
  readonly workspaceId: string;
  readonly wrapped: Uint8Array;
  readonly masterKey: string | null;
};

/** A data key before and after it is wrapped by another master key. */
export type DataKeyRewrap = { readonly before: WrappedKey; readonly after: WrappedKey };

export type WrappedKeyCount = { readonly masterKey: string | null; readonly dataKeys: number };

export type DataKeyStore = {
  find(workspaceId: string): Promise<WrappedKey | undefined>;
  /** Adds the key unless the workspace has one; returns the stored key. */
  add(key: WrappedKey): Promise<WrappedKey>;
  /** Data keys per master key. */
  counts(): Promise<WrappedKeyCount[]>;
  /** Any data key that this master key wrapped. */
  findWrappedBy(masterKey: string | null): Promise<WrappedKey | undefined>;
  /** Ordered by workspace id, starting after `afterWorkspaceId`. */
  listNotWrappedBy(masterKey: string, afterWorkspaceId: string, limit: number): Promise<WrappedKey[]>;
};

/** Data key changes inside a transaction with their audit entry. */
export type DataKeyWriter = {
  /** Replaces `before` by `after` if it is unchanged; returns the number of replaced keys. */
  rewrap(keys: readonly DataKeyRewrap[]): Promise<number>;
};
