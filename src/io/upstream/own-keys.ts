import type { Credential, CurrentCatalogue, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import type { ProofLookup } from "../../domain/catalogue/proofs.ts";
import { CircuitBreakers } from "../../domain/routing/endpoint-health.ts";
import type { CircuitBreakerRules } from "../../domain/routing/failing-circuits.ts";
import { OwnKeyReachability } from "../../domain/routing/own-key-reachability.ts";
import { Reachability } from "../../domain/routing/reachability.ts";
import type { OwnKey } from "../../domain/tenancy/own-key.ts";
import type { Clock } from "../../kit/clock.ts";
import { sparseLookup } from "../../kit/sparse-lookup.ts";
import { type AddressResolver, OwnerConnections } from "./connections.ts";
import { credentialSecrets } from "./credential-secrets.ts";
import type { Transport } from "./transport.ts";
import { hasAdapter } from "./upstream-adapters.ts";

/** A decrypted key. The credential is a private field, so that printing the object never shows it. */
export class LoadedOwnKey {
  readonly key: OwnKey;
  /** Separate for each key: a failure with this key says nothing about the endpoint for other keys. */
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

  withMetadata(key: OwnKey): LoadedOwnKey {
    return new LoadedOwnKey(key, this.#credential, this.breakers);
  }
}

/** The keys of one workspace and the endpoints they reach. Immutable: replaced as a whole. */
export type OwnKeyOverlay = {
  readonly workspaceId: string;
  /** By provider. */
  readonly keys: ReadonlyMap<string, LoadedOwnKey>;
  readonly connections: ProviderConnections;
  readonly reach: OwnKeyReachability;
};

export type OwnKeysDeps = {
  readonly catalogue: CurrentCatalogue;
  /** Called when the first key is added, because the platform is built later. */
  readonly platform: () => {
    readonly addresses: AddressResolver;
    readonly reach: Reachability;
    readonly proofs: ProofLookup;
  };
  readonly transport: Pick<Transport, "release">;
  readonly clock: Clock;
  readonly breakerRules: CircuitBreakerRules;
};

/** The decrypted provider keys of all workspaces. */
export class OwnKeys {
  readonly #deps: OwnKeysDeps;
  readonly #overlays = new Map<string, OwnKeyOverlay>();
  /** The keys of a workspace by its id; undefined for a workspace without keys, which is most of them. */
  readonly of = sparseLookup(this.#overlays);

  constructor(deps: OwnKeysDeps) {
    this.#deps = deps;
  }

  /** The secrets of a workspace's keys, for redaction. */
  secretsOf(workspaceId: string): readonly string[] {
    return [...(this.of(workspaceId)?.keys.values() ?? [])].flatMap(({ secrets }) => secrets);
  }

  put(key: OwnKey, credential: Credential): void {
    const { clock, breakerRules } = this.#deps;
    this.#change(key.workspaceId, (keys) =>
      keys.set(key.provider, new LoadedOwnKey(key, credential, new CircuitBreakers(clock, breakerRules))),
    );
    // The new key must not use connections of the old one.
    this.#deps.transport.release(key.workspaceId);
  }

  updateMetadata(key: OwnKey): void {
    const loaded = this.of(key.workspaceId)?.keys.get(key.provider);
    if (loaded !== undefined) this.#change(key.workspaceId, (keys) => keys.set(key.provider, loaded.withMetadata(key)));
  }

  drop(workspaceId: string, provider: string): void {
    this.#change(workspaceId, (keys) => keys.delete(provider));
    this.#deps.transport.release(workspaceId);
  }

  #change(workspaceId: string, change: (keys: Map<string, LoadedOwnKey>) => void): void {
    const keys = new Map(this.#overlays.get(workspaceId)?.keys);
    change(keys);
    if (keys.size === 0) this.#overlays.delete(workspaceId);
    else this.#overlays.set(workspaceId, this.#buildOverlay(workspaceId, keys));
  }

  #buildOverlay(workspaceId: string, keys: ReadonlyMap<string, LoadedOwnKey>): OwnKeyOverlay {
    const { catalogue } = this.#deps;
    const { addresses, reach: platform, proofs } = this.#deps.platform();
    const credentials = new Map([...keys].map(([provider, loaded]) => [provider, loaded.credential]));
    const connections = new OwnerConnections(credentials, catalogue.snapshot, addresses);
    const own = new Reachability(catalogue, connections, hasAdapter, proofs);
    const metadata = new Map([...keys].map(([provider, { key }]) => [provider, key]));
    return { workspaceId, keys, connections, reach: new OwnKeyReachability(platform, own, metadata) };
  }
}

/** A workspace's own connections, then the platform's. */
export function overlayConnections(
  platform: ProviderConnections,
  overlay: OwnKeyOverlay | undefined,
): ProviderConnections {
  if (overlay === undefined) return platform;
  const isOnly = (provider: string) => overlay.keys.get(provider)?.key.use === "only";
  const platformFallback = (provider: string) => (isOnly(provider) ? undefined : platform);
  return {
    credential: (provider) => overlay.connections.credential(provider) ?? platform.credential(provider),
    baseUrl(endpoint) {
      const own = overlay.keys.has(endpoint.provider) ? overlay.connections.baseUrl(endpoint) : undefined;
      return own ?? platformFallback(endpoint.provider)?.baseUrl(endpoint);
    },
    hasRealProvider: platform.hasRealProvider || overlay.connections.hasRealProvider,
  };
}
