import type { CatalogueSnapshot, Credential } from "../../domain/catalogue/catalogue.ts";
import type { PlatformKey } from "../../domain/tenancy/platform-key.ts";
import { type AddressResolver, OwnerConnections } from "./connections.ts";
import { credentialSecrets } from "./credential-secrets.ts";

/** Credentials from settings. */
export type ConfiguredCredentials = {
  /** By provider, with the name of the setting; they take precedence over stored keys. */
  readonly named: ReadonlyMap<string, { readonly credential: Credential; readonly setting: string }>;
  /** Used for providers without any other credential. */
  readonly fallback: ReadonlyMap<string, Credential>;
  /** For simulated providers. */
  readonly simulated: ReadonlyMap<string, Credential>;
  /** All configured secrets, used or not. */
  readonly secrets: readonly string[];
};

/** `credential` is undefined if the key cannot be decrypted or is no longer valid for the provider. */
type StoredKey = { readonly key: PlatformKey; readonly credential: Credential | undefined };

/** The platform's provider connections, from settings and from stored keys, which change at run time. */
export class PlatformConnections extends OwnerConnections {
  readonly #configured: ConfiguredCredentials;
  readonly #snapshot: () => CatalogueSnapshot;
  readonly #stored = new Map<string, StoredKey>();
  #secrets: readonly string[];

  constructor(configured: ConfiguredCredentials, snapshot: () => CatalogueSnapshot, addressOf: AddressResolver) {
    super(effectiveCredentials(configured, new Map()), snapshot(), addressOf);
    this.#configured = configured;
    this.#snapshot = snapshot;
    this.#secrets = this.#collectSecrets();
  }

  /** All secrets, used or not, for redaction. */
  get secrets(): readonly string[] {
    return this.#secrets;
  }

  /** The source of the effective credential; null: there is none, or none is needed. */
  sourceOf(provider: string): "setting" | "stored" | null {
    if (this.credential(provider) === undefined || this.#configured.simulated.has(provider)) return null;
    return this.overridingSetting(provider) === null && this.#stored.get(provider)?.credential !== undefined
      ? "stored"
      : "setting";
  }

  /** The setting that takes precedence over a stored key. */
  overridingSetting(provider: string): string | null {
    return this.#configured.named.get(provider)?.setting ?? null;
  }

  /** Whether any setting connects the provider. */
  isConfigured(provider: string): boolean {
    return this.#configured.named.has(provider) || this.#configured.fallback.has(provider);
  }

  kept(provider: string): PlatformKey | undefined {
    return this.#stored.get(provider)?.key;
  }

  /** Providers whose stored key cannot be used. */
  get unusableProviders(): readonly string[] {
    return [...this.#stored].flatMap(([provider, { credential }]) => (credential === undefined ? [provider] : []));
  }

  get storedProviders(): readonly string[] {
    return [...this.#stored.keys()];
  }

  put(key: PlatformKey, credential: Credential | undefined): void {
    this.#stored.set(key.provider, { key, credential });
    this.#rebuild();
  }

  drop(provider: string): void {
    if (this.#stored.delete(provider)) this.#rebuild();
  }

  #rebuild(): void {
    this.replaceCredentials(effectiveCredentials(this.#configured, this.#stored), this.#snapshot());
    this.#secrets = this.#collectSecrets();
  }

  #collectSecrets(): readonly string[] {
    const stored = [...this.#stored.values()].flatMap(({ credential }) =>
      credential === undefined ? [] : credentialSecrets(credential),
    );
    return [...this.#configured.secrets, ...stored];
  }
}

function effectiveCredentials(
  { named, fallback, simulated }: ConfiguredCredentials,
  stored: ReadonlyMap<string, StoredKey>,
): ReadonlyMap<string, Credential> {
  const credentials = new Map(fallback);
  for (const [provider, { credential }] of stored) if (credential !== undefined) credentials.set(provider, credential);
  for (const [provider, { credential }] of named) credentials.set(provider, credential);
  for (const [provider, credential] of simulated) credentials.set(provider, credential);
  return credentials;
}
