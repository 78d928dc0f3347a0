import type { CurrentCatalogue } from "../domain/catalogue/catalogue.ts";
import { Reachability } from "../domain/routing/reachability.ts";
import type { HttpClient } from "../http1/client/contract.ts";
import { createHttpClient } from "../http1/client/http-client.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import {
  createMintedCredential,
  type MintedCredential,
  parseServiceAccountKey,
} from "../io/upstream/google-service-account.ts";
import { IsolatedOrigins } from "../io/upstream/isolated-origins.ts";
import {
  createAddressResolver,
  createPlatformConnections,
  serviceAccountOnlyProviders,
} from "../io/upstream/provider-connections.ts";
import type { Transport } from "../io/upstream/transport.ts";
import { hasAdapter } from "../io/upstream/upstream-adapters.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { systemTimers } from "../kit/timers.ts";
import { type Config, ConfigError } from "../settings/config.ts";
import { createProofRegistry } from "./proofs.ts";

const ISOLATED_ORIGIN = "isolated_origin:";

type HttpTransportDeps = {
  readonly store: Store;
  readonly ids: IdGenerator;
  readonly log: Logger;
  readonly metrics: Metrics;
};

/** `loadIsolation` isolates the origins that any instance ever recorded. */
export type HttpTransport = HttpClient & { loadIsolation(): Promise<void> };

export function createHttpTransport(config: Config, deps: HttpTransportDeps): HttpTransport {
  const { store, log, metrics } = deps;
  const isolated = new IsolatedOrigins({
    store: {
      list: async () => (await store.meta.names(ISOLATED_ORIGIN)).map((name) => name.slice(ISOLATED_ORIGIN.length)),
      add: (origin) => recordIsolation(origin, deps),
    },
    count: (pool) => metrics.recordUnsolicitedBytes(pool),
    warn: (detail, message) => log.warn(detail, message),
  });
  const client = createHttpClient(
    {
      connections: config.GATEWAY_UPSTREAM_CONNECTIONS,
      connectTimeoutMs: config.GATEWAY_CONNECT_TIMEOUT_MS,
      firstByteTimeoutMs: config.GATEWAY_FIRST_BYTE_TIMEOUT_MS,
      idleTimeoutMs: config.GATEWAY_IDLE_TIMEOUT_MS,
    },
    {
      isolation: config.GATEWAY_UPSTREAM_ISOLATION,
      workspacePoolsMax: config.GATEWAY_UPSTREAM_ISOLATED_WORKSPACES,
      onUnsolicitedBytes: (bytes) => isolated.record(bytes),
    },
  );
  return { ...client, loadIsolation: () => isolated.load(client) };
}

/** The audit entry also makes the other instances load it. */
async function recordIsolation(origin: string, { store, ids }: HttpTransportDeps): Promise<void> {
  const atMs = systemClock.nowMs();
  await store.meta.add(`${ISOLATED_ORIGIN}${origin}`, String(atMs));
  const action = { action: "upstream.isolate", workspaceId: null, target: origin, detail: {} };
  await store.change(async () => ({
    result: undefined,
    audit: { id: ids.next("aud_"), atMs, actor: "gateway", ...action },
  }));
}

type ProviderDeps = {
  readonly catalogue: CurrentCatalogue;
  readonly sandboxOrigins: Readonly<Record<string, string>>;
  readonly transport: Transport;
};

export type Providers = ReturnType<typeof connectProviders>;

/** Credentials and addresses of the operator's providers and of the sandbox, and which endpoints can be reached. */
export function connectProviders(config: Config, { catalogue, sandboxOrigins, transport }: ProviderDeps) {
  const snapshot = () => catalogue.snapshot;
  const minted = mintedCredentials(config, transport);
  const connections = createPlatformConnections(config.providers, snapshot, sandboxOrigins, minted);
  const proofs = createProofRegistry(config, snapshot, connections);
  return {
    connections,
    proofs,
    addresses: createAddressResolver(config.providers, sandboxOrigins),
    serviceAccountOnly: serviceAccountOnlyProviders(config.providers, catalogue.snapshot),
    reachability: new Reachability(catalogue, connections, hasAdapter, proofs),
  };
}

/** Google service accounts, by the provider name in their variable. */
function mintedCredentials(config: Config, transport: Transport): Map<string, MintedCredential> {
  const minted = new Map<string, MintedCredential>();
  for (const [name, text] of config.providers.credentials) {
    const account = parseServiceAccountKey(text);
    if ("problem" in account) throw new ConfigError([`PROVIDER_${name}_CREDENTIALS: ${account.problem}`]);
    minted.set(name, createMintedCredential(account, { transport, clock: systemClock, timers: systemTimers }));
  }
  return minted;
}
