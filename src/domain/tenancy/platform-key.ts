import type { OwnKey } from "./own-key.ts";
import { type EncryptionContext, GATEWAY_DATA_KEY } from "./vault.ts";

/** All that is ever shown of the platform's own credential at a provider. The credential itself is not in it. */
export type PlatformKey = Pick<
  OwnKey,
  "provider" | "kind" | "hint" | "fingerprint" | "createdAtMs" | "changedAtMs" | "changedBy"
>;

/** A credential as it is kept: sealed with the data key of the gateway itself. */
export type SealedPlatformKey = { readonly key: PlatformKey; readonly sealed: Uint8Array };

export type PlatformKeyStore = {
  all(): Promise<SealedPlatformKey[]>;
  /** One for the same provider takes the place of the one before. */
  save(key: PlatformKey, sealed: Uint8Array): Promise<void>;
  remove(provider: string): Promise<void>;
};

/** Where a credential belongs: it opens for no other provider, and as no workspace's. */
export function platformKeyEncryptionContext(provider: string): EncryptionContext {
  return { workspaceId: GATEWAY_DATA_KEY, column: "platform_credentials.secret", row: provider };
}
