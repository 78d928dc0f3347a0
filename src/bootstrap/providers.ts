import type { CurrentCatalogue } from "../domain/catalogue/catalogue.ts";
import { Reachability } from "../domain/routing/reachability.ts";
import { createHttpClient } from "../http1/client/http-client.ts";
import {
  createMintedCredential,
  type MintedCredential,
  parseServiceAccountKey,
} from "../io/upstream/google-service-account.ts";
import {
  createAddressResolver,
  createPlatformConnections,
  serviceAccountOnlyProviders,
} from "../io/upstream/provider-connections.ts";
import type { Transport } from "../io/upstream/transport.ts";
import { hasAdapter } from "../io/upstream/upstream-adapters.ts";
import { systemClock } from "../kit/clock.ts";
import { systemTimers } from "../kit/timers.ts";
import { type Config, ConfigError } from "../settings/config.ts";
import { createProofRegistry } from "./proofs.ts";

export function createHttpTransport(config: Config): Transport {
  return createHttpClient({
    connections: config.GATEWAY_UPSTREAM_CONNECTIONS,
    connectTimeoutMs: config.GATEWAY_CONNECT_TIMEOUT_MS,
    firstByteTimeoutMs: config.GATEWAY_FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: config.GATEWAY_IDLE_TIMEOUT_MS,
  });
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
