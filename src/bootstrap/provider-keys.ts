import type { OwnKeyManagement } from "../app/manage/deps.ts";
import type { CatalogueSnapshot, Endpoint } from "../domain/catalogue/catalogue.ts";
import { type OwnKey, ownKeyEncryptionContext, type SealedOwnKey } from "../domain/tenancy/own-key.ts";
import { platformKeyEncryptionContext } from "../domain/tenancy/platform-key.ts";
import type { EncryptionContext, Vault } from "../domain/tenancy/vault.ts";
import type { Store } from "../io/store/sql/store.ts";
import { StoreError } from "../io/store/sql/store-error.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { UNUSABLE } from "../io/upstream/authorize.ts";
import type { Addresses } from "../io/upstream/connections.ts";
import { GOOGLE_TOKEN_URIS, readOwnKey } from "../io/upstream/own-credential.ts";
import { type OwnKeyParts, OwnKeys } from "../io/upstream/own-keys.ts";
import type { PlatformConnections } from "../io/upstream/platform-connections.ts";
import { probeProvider } from "../io/upstream/probe-key.ts";
import type { Transport } from "../io/upstream/transport.ts";
import { systemClock } from "../kit/clock.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import { breakerRulesOf } from "./bounds.ts";

export function holdOwnKeys(config: Config, parts: Pick<OwnKeyParts, "snapshot" | "transport" | "platform">): OwnKeys {
  return new OwnKeys({ ...parts, clock: systemClock, breakerRules: breakerRulesOf(config) });
}

type OwnKeyDeps = {
  readonly held: OwnKeys;
  readonly vault: Vault;
  /** Of providers and endpoints, which stay as they are; rates are not read from it. */
  readonly snapshot: () => CatalogueSnapshot;
  readonly transport: Transport;
  readonly connections: PlatformConnections;
  readonly addresses: Addresses;
  readonly accountsAlone: ReadonlySet<string>;
  readonly log: Logger;
};

/** What is done with keys at providers: read, sealed, and tried there. Those that are kept are opened. */
export async function openOwnKeys(store: Store, deps: OwnKeyDeps): Promise<OwnKeyManagement> {
  const { held: registry, vault, transport, addresses, accountsAlone } = deps;
  const snapshot = deps.snapshot();
  const ways = { transport, clock: systemClock, timers: systemTimers };
  const reading = { ...ways, snapshot, tokenUris: GOOGLE_TOKEN_URIS, accountsAlone };
  const room: OwnKeyManagement = {
    registry,
    parse: (text, provider) => readOwnKey(text, provider, reading),
    seal: (slot, secret) => vault.seal(slot, secret),
    reload: (workspaceId) =>
      workspaceId === null ? reloadPlatformKeys(store, room, deps) : reloadOwnKeys(store, room, deps, workspaceId),
    async probe(provider, credential, owner) {
      const baseUrl = (endpoint: Endpoint) => addresses(endpoint, credential);
      const parts = { ...ways, snapshot, owner: owner ?? undefined, baseUrl };
      const probed = await probeProvider(provider, credential, parts);
      // A key that may not be kept leaves no connection behind.
      if (owner !== null) transport.release(owner);
      return probed;
    },
  };
  await reloadPlatformKeys(store, room, deps);
  for (const one of await store.ownKeys.all()) await openOwnKey(one, room, deps);
  return room;
}

/** The platform's credentials as the store has them now, in the place of those that were known. */
async function reloadPlatformKeys(store: Store, room: OwnKeyManagement, deps: OwnKeyDeps) {
  const { connections } = deps;
  const now = await store.platformKeys.all();
  for (const provider of connections.keptProviders)
    if (!now.some(({ key }) => key.provider === provider)) connections.drop(provider);
  for (const { key, sealed } of now) {
    const { provider, changedAtMs, fingerprint } = key;
    const known = connections.kept(provider);
    if (known?.fingerprint === fingerprint && known.changedAtMs === changedAtMs) continue;
    const slot = platformKeyEncryptionContext(provider);
    const read = await opened({ slot, sealed, provider, whose: "the platform's" }, room, deps);
    // Whoever changed it meanwhile, here, knows better.
    if (connections.kept(provider) === known) connections.put(key, read?.credential);
  }
}

/** A workspace's own keys as the store has them now, in the place of those that were known. */
async function reloadOwnKeys(store: Store, room: OwnKeyManagement, deps: OwnKeyDeps, workspaceId: string) {
  const { held } = deps;
  const now = await store.ownKeys.all(workspaceId);
  const before = held.of(workspaceId)?.keys;
  for (const provider of before?.keys() ?? [])
    if (!now.some(({ key }) => key.provider === provider)) held.drop(workspaceId, provider);
  for (const one of now) {
    const known = before?.get(one.key.provider)?.key;
    // A key that stays keeps its connections, and what is known of how it does.
    if (known?.fingerprint !== one.key.fingerprint) await openOwnKey(one, room, deps);
    else if (!isDescribed(known, one.key)) held.describe(one.key);
  }
}

function isDescribed(known: OwnKey, now: OwnKey): boolean {
  const isAsChanged = known.changedAtMs === now.changedAtMs && known.changedBy === now.changedBy;
  return isAsChanged && known.testedAtMs === now.testedAtMs;
}

async function openOwnKey({ key, sealed }: SealedOwnKey, room: OwnKeyManagement, deps: OwnKeyDeps) {
  const { provider } = key;
  const read = await opened(
    { slot: ownKeyEncryptionContext(key), sealed, provider, whose: "a workspace's own" },
    room,
    deps,
  );
  // One that does not open, or is of no use any more, lets nothing through. Were it left out, a workspace that wants only
  // its own key would be served, and charged, with the platform's.
  deps.held.put(key, read?.credential ?? UNUSABLE);
}

type Sealed = {
  readonly slot: EncryptionContext;
  readonly sealed: Uint8Array;
  readonly provider: string;
  readonly whose: string;
};

/** Undefined, and told, where it does not open or is of no use any more. Throws where SQL is away: that says nothing of it. */
async function opened({ slot, sealed, provider, whose }: Sealed, room: OwnKeyManagement, { vault, log }: OwnKeyDeps) {
  const about = { workspace: slot.workspaceId, provider };
  const secret = await vault.open(slot, sealed).catch((error: unknown) => {
    if (error instanceof StoreError) throw error;
    return undefined;
  });
  const read = secret === undefined ? undefined : room.parse(secret, provider);
  if (read === undefined) log.warn(about, `${whose} provider key does not open: connect it again`);
  else if ("problem" in read) log.warn(about, `${whose} provider key is of no use: ${read.problem}`);
  else return read;
  return undefined;
}
