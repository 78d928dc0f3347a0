import type { EncryptionContext } from "./vault.ts";

export const OWN_KEY_USES = ["first", "only", "fallback"] as const;

/**
 * When a workspace's own key is used at its provider: before the platform's, instead of it, or only after everything
 * of the platform's has failed.
 */
export type OwnKeyUse = (typeof OWN_KEY_USES)[number];

/** A plain key, a key pair of AWS, a service account of Google's cloud. */
export const OWN_KEY_KINDS = ["key", "aws", "google"] as const;
export type OwnKeyKind = (typeof OWN_KEY_KINDS)[number];

/** What the provider said of it when it was last tried; `untried` when nobody asked, or the provider could not say. */
export const OWN_KEY_RESULTS = ["accepted", "refused", "untried"] as const;
export type OwnKeyResult = (typeof OWN_KEY_RESULTS)[number];

/** All that is ever shown of a workspace's own key at a provider. The key itself is not in it. */
export type OwnKey = {
  readonly workspaceId: string;
  readonly provider: string;
  readonly kind: OwnKeyKind;
  readonly use: OwnKeyUse;
  /** Its last characters, to know it by; null when it is too short to show any. */
  readonly hint: string | null;
  /** The beginning of its SHA-256: tells two keys apart. */
  readonly fingerprint: string;
  readonly createdAtMs: number;
  readonly changedAtMs: number;
  readonly changedBy: string;
  readonly result: OwnKeyResult;
  readonly testedAtMs: number | null;
};

/** A key as it is kept: sealed with the data key of its workspace. */
export type SealedOwnKey = { readonly key: OwnKey; readonly sealed: Uint8Array };

/** Read as a whole once, at start. */
export type OwnKeyStore = {
  /** Of one workspace alone where it is named. */
  all(workspaceId?: string): Promise<SealedOwnKey[]>;
  /** A key for the same provider takes the place of the one before. */
  save(key: OwnKey, sealed: Uint8Array): Promise<void>;
  /** What a test of this very key found; nothing else changes. */
  saveTestResult(key: OwnKey): Promise<void>;
  /** When this very key is used from now on; nothing else changes. */
  saveUse(key: OwnKey): Promise<void>;
  remove(workspaceId: string, provider: string): Promise<void>;
};

/** Where a key belongs: it opens in no other workspace, and for no other provider. */
export function ownKeyEncryptionContext({
  workspaceId,
  provider,
}: Pick<OwnKey, "workspaceId" | "provider">): EncryptionContext {
  return { workspaceId, column: "workspace_credentials.secret", row: provider };
}
