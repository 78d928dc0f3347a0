import type { EncryptionContext } from "./vault.ts";

export const OWN_KEY_USES = ["first", "only", "fallback"] as const;

/** Whether a workspace's own key is tried before the platform's key, instead of it, or after it failed. */
export type OwnKeyUse = (typeof OWN_KEY_USES)[number];

/** A plain API key, an AWS key pair, a Google Cloud service account. */
export const OWN_KEY_KINDS = ["key", "aws", "google"] as const;
export type OwnKeyKind = (typeof OWN_KEY_KINDS)[number];

/** The result of the last test; `untried`: not tested, or the provider gave no clear answer. */
export const OWN_KEY_RESULTS = ["accepted", "refused", "untried"] as const;
export type OwnKeyResult = (typeof OWN_KEY_RESULTS)[number];

/** A workspace's own key at a provider, without the secret. */
export type OwnKey = {
  readonly workspaceId: string;
  readonly provider: string;
  readonly kind: OwnKeyKind;
  readonly use: OwnKeyUse;
  /** Its last characters; null: too short to show any. */
  readonly hint: string | null;
  /** A prefix of its SHA-256. */
  readonly fingerprint: string;
  readonly createdAtMs: number;
  readonly changedAtMs: number;
  readonly changedBy: string;
  readonly result: OwnKeyResult;
  readonly testedAtMs: number | null;
};

/** A key encrypted with the data key of its workspace. */
export type SealedOwnKey = { readonly key: OwnKey; readonly sealed: Uint8Array };

export type OwnKeyStore = {
  /** `workspaceId` limits the result to one workspace. */
  all(workspaceId?: string): Promise<SealedOwnKey[]>;
  /** Replaces an existing key for the same provider. */
  save(key: OwnKey, sealed: Uint8Array): Promise<void>;
  /** Writes the test result, if the key was not replaced meanwhile. */
  saveTestResult(key: OwnKey): Promise<void>;
  /** Writes the use, if the key was not replaced meanwhile. */
  saveUse(key: OwnKey): Promise<void>;
  remove(workspaceId: string, provider: string): Promise<void>;
};

/** Binds the ciphertext to its workspace and provider. */
export function ownKeyEncryptionContext({
  workspaceId,
  provider,
}: Pick<OwnKey, "workspaceId" | "provider">): EncryptionContext {
  return { workspaceId, column: "workspace_credentials.secret", row: provider };
}
