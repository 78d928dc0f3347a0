import { createHttpClient } from "../http1/client/http-client.ts";
import { type MintedCredential, mintedCredential, readGoogleAccount } from "../io/upstream/google-credentials.ts";
import type { Transport } from "../io/upstream/transport.ts";
import { systemClock } from "../kit/clock.ts";
import { systemTimers } from "../kit/timers.ts";
import { type Config, ConfigError } from "../settings/config.ts";

export function openTransport(config: Config): Transport {
  return createHttpClient({
    connections: config.GATEWAY_UPSTREAM_CONNECTIONS,
    connectTimeoutMs: config.GATEWAY_CONNECT_TIMEOUT_MS,
    firstByteTimeoutMs: config.GATEWAY_FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: config.GATEWAY_IDLE_TIMEOUT_MS,
  });
}

/** Service accounts by the provider's name in its variable. */
export function mintedFrom(config: Config, transport: Transport): Map<string, MintedCredential> {
  const minted = new Map<string, MintedCredential>();
  for (const [name, text] of config.providers.credentials) {
    const account = readGoogleAccount(text);
    if ("problem" in account) throw new ConfigError([`PROVIDER_${name}_CREDENTIALS: ${account.problem}`]);
    minted.set(name, mintedCredential(account, { transport, clock: systemClock, timers: systemTimers }));
  }
  return minted;
}
