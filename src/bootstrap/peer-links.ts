import os from "node:os";
import type { CoordinationStore } from "../domain/fleet/coordination-store.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { MasterKeys } from "../io/master-keys.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import type { NodeRegistry } from "../io/tunnel/node-registry.ts";
import { derivePeerKeys } from "../io/tunnel/peer-keys.ts";
import { openPeerNetwork, type PeerNetwork, type PeerNetworkDeps } from "../io/tunnel/peer-network.ts";
import { systemClock } from "../kit/clock.ts";
import { randomToken } from "../kit/secret.ts";
import { systemTimers } from "../kit/timers.ts";
import { type Config, ConfigError } from "../settings/config.ts";
import { nodeCallLimits } from "./nodes.ts";

const PING_EVERY_MS = 5_000;
const PING_TIMEOUT_MS = 5_000;
const IDLE_MAX_MS = 20_000;
/** How often an instance announces its connected nodes, and how long an announcement is valid. */
const ANNOUNCE_EVERY_MS = 2_000;
const ANNOUNCE_TTL_MS = 6_000;
const REJECTION_LOG_EVERY_MS = 60_000;
const RUN_ID_BYTES = 9;
const WILDCARD_HOSTS: readonly string[] = ["0.0.0.0", "::"];

type PeerLinkDeps = {
  /** Undefined for a single instance. */
  readonly store: CoordinationStore | undefined;
  readonly fleet: Pick<Fleet, "id">;
  readonly masterKeys: MasterKeys;
  readonly nodes: NodeRegistry;
  readonly metrics: Pick<Metrics, "recordPeerRejection">;
  readonly log: Logger;
};

/** Links between instances, through which each uses the nodes that are connected to another. */
export async function openPeerLinks(config: Config, deps: PeerLinkDeps): Promise<Pick<PeerNetwork, "drain" | "close">> {
  const { store, fleet, masterKeys, nodes, metrics, log } = deps;
  if (store === undefined) return { drain: async () => undefined, close: async () => undefined };
  const { GATEWAY_PEER_HOST: host, GATEWAY_PEER_PORT: port } = config;
  const opening = openPeerNetwork({
    store,
    keys: derivePeerKeys(masterKeys),
    nodes,
    instance: { id: fleet.id, runId: randomToken(RUN_ID_BYTES) },
    rules: peerRules(config),
    host,
    port,
    advertisedUrl: (boundPort) => config.GATEWAY_PEER_URL ?? `https://${hostInUrl(reachableHost(host))}:${boundPort}`,
    onRejected: rejectionRecorder(metrics, log),
    onError: (error) => log.warn({ err: error }, "peer-link: exchanging node locations failed"),
  });
  return await opening.catch((error: unknown) => {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([
      `GATEWAY_PEER_HOST, GATEWAY_PEER_PORT: cannot listen on ${host}:${port} (${String(error)}); use an address of this machine and a free port, or 0`,
    ]);
  });
}

/** Counts every rejection; a failed handshake comes from outside the fleet and is also logged, at most once a minute. */
function rejectionRecorder(metrics: PeerLinkDeps["metrics"], log: Logger): PeerNetworkDeps["onRejected"] {
  let silentUntilMs = 0;
  return (reason) => {
    metrics.recordPeerRejection(reason);
    const nowMs = systemClock.monotonicMs();
    if (reason !== "handshake" || nowMs < silentUntilMs) return;
    silentUntilMs = nowMs + REJECTION_LOG_EVERY_MS;
    log.warn({}, "peer-link: rejected connection without a valid instance key");
  };
}

function peerRules(config: Config): PeerNetworkDeps["rules"] {
  return {
    clock: systemClock,
    timers: systemTimers,
    pingEveryMs: PING_EVERY_MS,
    pingTimeoutMs: PING_TIMEOUT_MS,
    idleTimeoutMs: IDLE_MAX_MS,
    everyMs: ANNOUNCE_EVERY_MS,
    ttlMs: ANNOUNCE_TTL_MS,
    connectTimeoutMs: config.GATEWAY_CONNECT_TIMEOUT_MS,
    calls: nodeCallLimits(config),
  };
}

/** For a wildcard address the first external address of this machine. */
function reachableHost(host: string): string {
  if (!WILDCARD_HOSTS.includes(host)) return host;
  const external = machineAddresses().filter(({ internal, scopeid }) => !internal && (scopeid ?? 0) === 0);
  return (external.find(({ family }) => family === "IPv4") ?? external[0])?.address ?? "127.0.0.1";
}

function machineAddresses() {
  try {
    return Object.values(os.networkInterfaces()).flatMap((addresses) => addresses ?? []);
  } catch (error) {
    throw new ConfigError([
      `GATEWAY_PEER_URL: set it, because the addresses of this machine cannot be determined (${String(error)})`,
    ]);
  }
}

function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
