import type { OwnKey } from "./own-key.ts";
import { type EncryptionContext, GATEWAY_DATA_KEY } from "./vault.ts";

/** The operator's credential at a provider, without the secret. */
export type PlatformKey = Pick<
  OwnKey,
  "provider" | "kind" | "hint" | "fingerprint" | "createdAtMs" | "changedAtMs" | "changedBy"
>;

/** A credential encrypted with the gateway's own data key. */
export type SealedPlatformKey = { readonly key: PlatformKey; readonly sealed: Uint8Array };

export type PlatformKeyStore = {
  all(): Promise<SealedPlatformKey[]>;
  /** Replaces an existing credential for the same provider. */
  save(key: PlatformKey, sealed: Uint8Array): Promise<void>;
  remove(provider: string): Promise<void>;
};

/** Binds the ciphertext to the gateway and the provider. */
export function platformKeyEncryptionContext(provider: string): EncryptionContext {
  return { workspaceId: GATEWAY_DATA_KEY, column: "platform_credentials.secret", row: provider };
}
