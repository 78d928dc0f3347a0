import type { OwnKeyManagement } from "../app/manage/deps.ts";
import type { CatalogueSnapshot, Endpoint } from "../domain/catalogue/catalogue.ts";
import { type OwnKey, ownKeyEncryptionContext, type SealedOwnKey } from "../domain/tenancy/own-key.ts";
import { platformKeyEncryptionContext } from "../domain/tenancy/platform-key.ts";
import type { EncryptionContext, Vault } from "../domain/tenancy/vault.ts";
import type { Store } from "../io/store/sql/store.ts";
import { StoreError } from "../io/store/sql/store-error.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { AddressResolver } from "../io/upstream/connections.ts";
import { UNDECRYPTABLE_CREDENTIAL } from "../io/upstream/credential-secrets.ts";
import { OwnKeys, type OwnKeysDeps } from "../io/upstream/own-keys.ts";
import { GOOGLE_TOKEN_URIS, parseOwnKey } from "../io/upstream/parse-own-key.ts";
import type { PlatformConnections } from "../io/upstream/platform-connections.ts";
import { probeCredential } from "../io/upstream/probe-credential.ts";
import type { Transport } from "../io/upstream/transport.ts";
import { systemClock } from "../kit/clock.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import { circuitBreakerRules } from "./overload-protection.ts";

export function createOwnKeys(
  config: Config,
  deps: Pick<OwnKeysDeps, "catalogue" | "transport" | "platform">,
): OwnKeys {
  return new OwnKeys({ ...deps, clock: systemClock, breakerRules: circuitBreakerRules(config) });
}

type ProviderKeyDeps = {
  readonly ownKeys: OwnKeys;
  readonly vault: Vault;
  readonly snapshot: () => CatalogueSnapshot;
  readonly transport: Transport;
  readonly connections: PlatformConnections;
  readonly addresses: AddressResolver;
  readonly serviceAccountOnly: ReadonlySet<string>;
  readonly log: Logger;
};

/** Parses, encrypts and probes provider keys; decrypts all stored ones. */
export async function openProviderKeys(store: Store, deps: ProviderKeyDeps): Promise<OwnKeyManagement> {
  const { ownKeys: registry, vault, transport, addresses, serviceAccountOnly } = deps;
  const snapshot = deps.snapshot();
  const client = { transport, clock: systemClock, timers: systemTimers };
  const parseOptions = { ...client, snapshot, tokenUris: GOOGLE_TOKEN_URIS, serviceAccountOnly };
  const management: OwnKeyManagement = {
    registry,
    parse: (text, provider) => parseOwnKey(text, provider, parseOptions),
    seal: (slot, secret) => vault.seal(slot, secret),
    reload: (workspaceId) =>
      workspaceId === null
        ? reloadPlatformKeys(store, management, deps)
        : reloadOwnKeys(store, management, deps, workspaceId),
    async probe(provider, credential, owner) {
      const baseUrl = (endpoint: Endpoint) => addresses(endpoint, credential);
      const options = { ...client, snapshot, owner: owner ?? undefined, baseUrl };
      const result = await probeCredential(provider, credential, options);
      // The key may not be stored in the end, so its connections are closed.
      if (owner !== null) transport.release(owner);
      return result;
    },
  };
  await reloadPlatformKeys(store, management, deps);
  for (const stored of await store.ownKeys.all()) await loadOwnKey(stored, management, deps);
  return management;
}

/** Replaces the operator's cached credentials by those in the store. */
async function reloadPlatformKeys(store: Store, management: OwnKeyManagement, deps: ProviderKeyDeps) {
  const { connections } = deps;
  const stored = await store.platformKeys.all();
  for (const provider of connections.storedProviders)
    if (!stored.some(({ key }) => key.provider === provider)) connections.drop(provider);
  for (const { key, sealed } of stored) {
    const { provider, changedAtMs, fingerprint } = key;
    const known = connections.kept(provider);
    if (known?.fingerprint === fingerprint && known.changedAtMs === changedAtMs) continue;
    const context = platformKeyEncryptionContext(provider);
    const parsed = await decryptKey({ context, sealed, provider, owner: "operator" }, management, deps);
    // A change in this process during the decryption is newer.
    if (connections.kept(provider) === known) connections.put(key, parsed?.credential);
  }
}

/** Replaces the cached keys of a workspace by those in the store. */
async function reloadOwnKeys(store: Store, management: OwnKeyManagement, deps: ProviderKeyDeps, workspaceId: string) {
  const { ownKeys } = deps;
  const stored = await store.ownKeys.all(workspaceId);
  const cached = ownKeys.of(workspaceId)?.keys;
  for (const provider of cached?.keys() ?? [])
    if (!stored.some(({ key }) => key.provider === provider)) ownKeys.drop(workspaceId, provider);
  for (const row of stored) {
    const known = cached?.get(row.key.provider)?.key;
    // An unchanged key keeps its connections and circuit state.
    if (known?.fingerprint !== row.key.fingerprint) await loadOwnKey(row, management, deps);
    else if (!hasSameMetadata(known, row.key)) ownKeys.updateMetadata(row.key);
  }
}

function hasSameMetadata(a: OwnKey, b: OwnKey): boolean {
  return a.changedAtMs === b.changedAtMs && a.changedBy === b.changedBy && a.testedAtMs === b.testedAtMs;
}

async function loadOwnKey({ key, sealed }: SealedOwnKey, management: OwnKeyManagement, deps: ProviderKeyDeps) {
  const { provider } = key;
  const context = ownKeyEncryptionContext(key);
  const parsed = await decryptKey({ context, sealed, provider, owner: "workspace" }, management, deps);
  // An unusable key blocks its provider: without an entry, requests would use and be charged for the operator's key.
  deps.ownKeys.put(key, parsed?.credential ?? UNDECRYPTABLE_CREDENTIAL);
}

type EncryptedKey = {
  readonly context: EncryptionContext;
  readonly sealed: Uint8Array;
  readonly provider: string;
  readonly owner: "operator" | "workspace";
};

/** Logs and returns undefined when the key cannot be decrypted or used. Throws when SQL does not respond. */
async function decryptKey(
  { context, sealed, provider, owner }: EncryptedKey,
  management: OwnKeyManagement,
  { vault, log }: ProviderKeyDeps,
) {
  const fields = { workspace: context.workspaceId, provider, owner };
  const secret = await vault.open(context, sealed).catch((error: unknown) => {
    if (error instanceof StoreError) throw error;
    return undefined;
  });
  const parsed = secret === undefined ? undefined : management.parse(secret, provider);
  if (parsed === undefined) log.warn(fields, "provider-keys: decryption failed, connect the key again");
  else if ("problem" in parsed) log.warn({ ...fields, problem: parsed.problem }, "provider-keys: key is unusable");
  else return parsed;
  return undefined;
}
