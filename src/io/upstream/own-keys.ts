import type { CatalogueSnapshot, Credential, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import type { ProofLookup } from "../../domain/catalogue/proofs.ts";
import { type CircuitBreakerRules, CircuitBreakers } from "../../domain/routing/circuit-breakers.ts";
import { OwnKeyReachability } from "../../domain/routing/own-key-reachability.ts";
import { Reachability } from "../../domain/routing/reachability.ts";
import type { OwnKey } from "../../domain/tenancy/own-key.ts";
import type { Clock } from "../../kit/clock.ts";
import { credentialSecrets } from "./authorize.ts";
import { type AddressResolver, createConnections } from "./provider-connections.ts";
import type { Transport } from "./transport.ts";
import { hasAdapter } from "./upstream-adapters.ts";

/** One key in use. What is secret of it stands in private fields, so that no print of it shows any. */
export class LoadedOwnKey {
  readonly key: OwnKey;
  /** Who fails with this key says nothing of the endpoint to those who call it with another. */
  readonly breakers: CircuitBreakers;
  readonly #credential: Credential;

  constructor(key: OwnKey, credential: Credential, breakers: CircuitBreakers) {
    this.key = key;
    this.breakers = breakers;
    this.#credential = credential;
  }

  get credential(): Credential {
    return this.#credential;
  }

  get secrets(): readonly string[] {
    return credentialSecrets(this.#credential);
  }

  /** The same key with other words about it. */
  withMetadata(key: OwnKey): LoadedOwnKey {
    return new LoadedOwnKey(key, this.#credential, this.breakers);
  }
}

/** The keys of one workspace, and what they reach. Replaced as a whole, never changed. */
export type OwnKeyOverlay = {
  readonly workspaceId: string;
  /** By provider. */
  readonly keys: ReadonlyMap<string, LoadedOwnKey>;
  readonly connections: ProviderConnections;
  readonly reach: OwnKeyReachability;
};

export type OwnKeysDeps = {
  readonly snapshot: () => CatalogueSnapshot;
  /** Where endpoints are, what the platform reaches, and what is proven: asked when there is a first key. */
  readonly platform: () => {
    readonly addresses: AddressResolver;
    readonly reach: Reachability;
    readonly proofs: ProofLookup;
  };
  readonly transport: Pick<Transport, "release">;
  readonly clock: Clock;
  readonly breakerRules: CircuitBreakerRules;
};

/** The keys that workspaces have at providers, opened, in the memory that the next request reads. */
export class OwnKeys {
  readonly #parts: OwnKeysDeps;
  readonly #layers = new Map<string, OwnKeyOverlay>();

  constructor(parts: OwnKeysDeps) {
    this.#parts = parts;
  }

  /** Undefined for a workspace without any, which is most of them. */
  of(workspaceId: string): OwnKeyOverlay | undefined {
    return this.#layers.size === 0 ? undefined : this.#layers.get(workspaceId);
  }

  /** Everything secret of a workspace's keys: for taking it out of texts. */
  secretsOf(workspaceId: string): readonly string[] {
    return [...(this.of(workspaceId)?.keys.values() ?? [])].flatMap(({ secrets }) => secrets);
  }

  put(key: OwnKey, credential: Credential): void {
    const { clock, breakerRules } = this.#parts;
    this.#change(key.workspaceId, (keys) =>
      keys.set(key.provider, new LoadedOwnKey(key, credential, new CircuitBreakers(clock, breakerRules))),
    );
    // Nothing of the old key's connections is used for the new one.
    this.#parts.transport.release(key.workspaceId);
  }

  /** Other words about a key that stays as it is. */
  updateMetadata(key: OwnKey): void {
    const held = this.of(key.workspaceId)?.keys.get(key.provider);
    if (held !== undefined) this.#change(key.workspaceId, (keys) => keys.set(key.provider, held.withMetadata(key)));
  }

  drop(workspaceId: string, provider: string): void {
    this.#change(workspaceId, (keys) => keys.delete(provider));
    this.#parts.transport.release(workspaceId);
  }

  #change(workspaceId: string, change: (keys: Map<string, LoadedOwnKey>) => void): void {
    const keys = new Map(this.#layers.get(workspaceId)?.keys);
    change(keys);
    if (keys.size === 0) this.#layers.delete(workspaceId);
    else this.#layers.set(workspaceId, this.#layer(workspaceId, keys));
  }

  #layer(workspaceId: string, keys: ReadonlyMap<string, LoadedOwnKey>): OwnKeyOverlay {
    const { snapshot } = this.#parts;
    const { addresses, reach: platform, proofs } = this.#parts.platform();
    const credentials = new Map([...keys].map(([provider, held]) => [provider, held.credential]));
    const connections = createConnections(credentials, snapshot(), addresses);
    const own = new Reachability(snapshot, connections, hasAdapter, proofs);
    const shown = new Map([...keys].map(([provider, { key }]) => [provider, key]));
    return { workspaceId, keys, connections, reach: new OwnKeyReachability(platform, own, shown) };
  }
}

/** A workspace's own connections before the platform's: for asking whether something can be called at all. */
export function overlayConnections(
  platform: ProviderConnections,
  layer: OwnKeyOverlay | undefined,
): ProviderConnections {
  if (layer === undefined) return platform;
  const isOnly = (provider: string) => layer.keys.get(provider)?.key.use === "only";
  const behind = (provider: string) => (isOnly(provider) ? undefined : platform);
  return {
    credential: (provider) => layer.connections.credential(provider) ?? platform.credential(provider),
    baseUrl(endpoint) {
      const own = layer.keys.has(endpoint.provider) ? layer.connections.baseUrl(endpoint) : undefined;
      return own ?? behind(endpoint.provider)?.baseUrl(endpoint);
    },
    hasRealProvider: platform.hasRealProvider || layer.connections.hasRealProvider,
  };
}
