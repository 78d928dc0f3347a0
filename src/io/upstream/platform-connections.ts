import type { Credential, Endpoint, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import type { PlatformKey } from "../../domain/tenancy/platform-key.ts";
import { credentialSecrets } from "./authorize.ts";

/** What connects providers without the store. */
export type ConfiguredCredentials = {
  /** By provider: what a setting of its own name gives, and that name. It wins over what is kept. */
  readonly named: ReadonlyMap<string, { readonly credential: Credential; readonly setting: string }>;
  /** For providers that nothing else connects. */
  readonly fallback: ReadonlyMap<string, Credential>;
  /** Simulated providers, which need none. */
  readonly simulated: ReadonlyMap<string, Credential>;
  /** Everything secret of what is set, in use or not. */
  readonly secrets: readonly string[];
};

/**
 * Which providers the platform is connected to: by the operator's settings, and by credentials that are kept in the store
 * and change while the gateway runs. What is secret of them stands in private fields, so that no print of it shows any.
 */
export class PlatformConnections implements ProviderConnections {
  readonly #given: ConfiguredCredentials;
  readonly #connect: (credentials: ReadonlyMap<string, Credential>) => ProviderConnections;
  readonly #kept = new Map<string, { readonly key: PlatformKey; readonly credential: Credential | undefined }>();
  #now: ProviderConnections;
  #secrets: readonly string[];
  #version = 0;

  constructor(
    given: ConfiguredCredentials,
    connect: (credentials: ReadonlyMap<string, Credential>) => ProviderConnections,
  ) {
    this.#given = given;
    this.#connect = connect;
    this.#now = this.#together();
    this.#secrets = this.#everySecret();
  }

  get version(): number {
    return this.#version;
  }

  get hasRealProvider(): boolean {
    return this.#now.hasRealProvider;
  }

  credential(provider: string): Credential | undefined {
    return this.#now.credential(provider);
  }

  baseUrl(endpoint: Endpoint): string | undefined {
    return this.#now.baseUrl(endpoint);
  }

  /** Everything secret of them, in force or not: for taking it out of texts. */
  get secrets(): readonly string[] {
    return this.#secrets;
  }

  /** Where the credential in force comes from; null: there is none, or none is needed. */
  sourceOf(provider: string): "setting" | "stored" | null {
    if (this.credential(provider) === undefined || this.#given.simulated.has(provider)) return null;
    return this.overridingSetting(provider) === null && this.#kept.get(provider)?.credential !== undefined
      ? "stored"
      : "setting";
  }

  /** The setting that wins over what is kept; null: none does. */
  overridingSetting(provider: string): string | null {
    return this.#given.named.get(provider)?.setting ?? null;
  }

  /** Whether settings connect it by themselves, winning or not. */
  isConfigured(provider: string): boolean {
    return this.#given.named.has(provider) || this.#given.fallback.has(provider);
  }

  kept(provider: string): PlatformKey | undefined {
    return this.#kept.get(provider)?.key;
  }

  /** Those that are kept and cannot be used. */
  get unusableProviders(): readonly string[] {
    return [...this.#kept].flatMap(([provider, { credential }]) => (credential === undefined ? [provider] : []));
  }

  get storedProviders(): readonly string[] {
    return [...this.#kept.keys()];
  }

  /** Undefined: it does not open, or is of no use any more. */
  put(key: PlatformKey, credential: Credential | undefined): void {
    this.#kept.set(key.provider, { key, credential });
    this.#renew();
  }

  drop(provider: string): void {
    if (this.#kept.delete(provider)) this.#renew();
  }

  #renew(): void {
    this.#now = this.#together();
    this.#secrets = this.#everySecret();
    this.#version += 1;
  }

  #everySecret(): readonly string[] {
    const kept = [...this.#kept.values()].flatMap(({ credential }) =>
      credential === undefined ? [] : credentialSecrets(credential),
    );
    return [...this.#given.secrets, ...kept];
  }

  #together(): ProviderConnections {
    const { named, fallback, simulated } = this.#given;
    const credentials = new Map(fallback);
    for (const [provider, { credential }] of this.#kept)
      if (credential !== undefined) credentials.set(provider, credential);
    for (const [provider, { credential }] of named) credentials.set(provider, credential);
    for (const [provider, credential] of simulated) credentials.set(provider, credential);
    return this.#connect(credentials);
  }
}
