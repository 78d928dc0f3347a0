import os from "node:os";
import type { Check } from "../app/manage/deps.ts";
import type { CatalogueSnapshot } from "../domain/catalogue/catalogue.ts";
import type { CoordinationStore } from "../domain/fleet/coordination-store.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { MasterKeys } from "../io/master-keys.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { Metrics } from "../io/telemetry/metrics.ts";
import type { CallLimits } from "../io/tunnel/node-call.ts";
import { type NodeEvents, Nodes } from "../io/tunnel/nodes.ts";
import { peerKeysOf } from "../io/tunnel/peer-keys.ts";
import { openPeers, type Peers, type PeersParts } from "../io/tunnel/peers.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { randomToken } from "../kit/secret.ts";
import { systemTimers } from "../kit/timers.ts";
import { type Config, ConfigError } from "../settings/config.ts";
import { breakerRulesOf } from "./bounds.ts";

/** Shorter than any proxy on the way takes to close what is silent. */
const PING_EVERY_MS = 15_000;
const PING_TIMEOUT_MS = 10_000;
const ANNOUNCE_EVERY_MS = 15_000;
const SEEN_EVERY_MS = 30_000;
/** Between instances, which are near each other. */
const PEER_PING_EVERY_MS = 5_000;
const PEER_PING_TIMEOUT_MS = 5_000;
const PEER_QUIET_MAX_MS = 20_000;
/** How often an instance says that it holds connections, and how long it is believed. */
const PRESENT_EVERY_MS = 2_000;
const PRESENT_TTL_MS = 6_000;
/** The longest time aside of one that keeps answering what cannot be, in times of the first. */
const ASIDE_TIMES_MAX = 120;

/** The book, and where it tells what becomes of nodes by itself: the store is opened later. */
type HeldNodes = { readonly nodes: Nodes; tell(told: NodeEvents): void };

/** The book of nodes, and the way to each: still empty, so nobody is let in. */
export function holdNodes(config: Config, snapshot: () => CatalogueSnapshot): HeldNodes {
  let events: NodeEvents | undefined;
  const { GATEWAY_ASIDE_MS: asideMs } = config;
  const nodes = new Nodes(
    {
      clock: systemClock,
      timers: systemTimers,
      pingEveryMs: PING_EVERY_MS,
      pingTimeoutMs: PING_TIMEOUT_MS,
      announceEveryMs: ANNOUNCE_EVERY_MS,
      calls: callLimitsOf(config),
      breakers: breakerRulesOf(config),
      seenEveryMs: SEEN_EVERY_MS,
      aside: { firstMs: asideMs, mostMs: ASIDE_TIMES_MAX * asideMs },
    },
    snapshot,
    {
      seen: (nodeIds, atMs) => events?.seen(nodeIds, atMs),
      setAside: (node, aside) => events?.setAside(node, aside),
    },
  );
  return {
    nodes,
    tell(told) {
      events = told;
    },
  };
}

/** Nodes that are kept; and from now on what becomes of them is kept as well. */
export async function openNodes(
  store: Pick<Store, "nodes" | "audit">,
  { nodes, tell }: HeldNodes,
  ids: IdGenerator,
  log: Logger,
): Promise<void> {
  await reloadNodes(store, nodes, null);
  const kept = (done: Promise<void>, otherwise: string) =>
    void done.catch((error: unknown) => log.warn({ error: String(error) }, otherwise));
  tell({
    seen: (nodeIds, atMs) => kept(store.nodes.recordSeen(nodeIds, atMs), "when a node was seen could not be kept"),
    setAside({ id, workspaceId, name }, { reason, sinceMs, untilMs }) {
      log.warn({ node: id, workspace: workspaceId, reason }, "a node answered what cannot be, and is set aside");
      const head = { id: ids.next("aud_"), atMs: sinceMs, actor: "gateway", action: "node.set_aside" };
      const detail = { name, reason, until: new Date(untilMs).toISOString() };
      const line = { ...head, workspaceId, target: id, detail };
      kept(store.audit.append(line), "the line about a node that was set aside could not be kept");
    },
  });
}

/** What others may have changed: the nodes of one workspace, or (null) of all, as they are kept now. */
export async function reloadNodes(
  store: { readonly nodes: Pick<Store["nodes"], "loadAll" | "loadOf"> },
  nodes: Pick<Nodes, "changes" | "replace">,
  workspaceId: string | null,
): Promise<void> {
  for (;;) {
    const before = nodes.changes;
    const kept = await (workspaceId === null ? store.nodes.loadAll() : store.nodes.loadWorkspace(workspaceId));
    // What was changed here meanwhile may be newer than what was read.
    if (nodes.changes !== before) continue;
    nodes.replace(workspaceId, kept);
    return;
  }
}

type PeerParts = {
  /** Undefined: there are no other instances. */
  readonly board: CoordinationStore | undefined;
  readonly fleet: Pick<Fleet, "id">;
  readonly masterKeys: MasterKeys;
  readonly nodes: Nodes;
  readonly metrics: Pick<Metrics, "peerRefused">;
  readonly log: Logger;
};

/** With several instances: nodes that are connected to another one serve requests of this one, and the other way round. */
export async function joinPeers(config: Config, parts: PeerParts): Promise<Pick<Peers, "drain" | "close">> {
  const { board, fleet, masterKeys, nodes, metrics, log } = parts;
  if (board === undefined) return { drain: async () => undefined, close: async () => undefined };
  const { GATEWAY_PEER_HOST: host, GATEWAY_PEER_PORT: port } = config;
  const joining = openPeers({
    board,
    keys: peerKeysOf(masterKeys),
    nodes,
    me: { id: fleet.id, run: randomToken(RUN_BYTES) },
    rules: peerRulesOf(config),
    host,
    port,
    addressAt: (bound) => config.GATEWAY_PEER_URL ?? `https://${hostInUrl(reachableHost(host))}:${bound}`,
    refused: refusals(metrics, log),
    problem: (error) => log.warn({ error: String(error) }, "where nodes are connected could not be told or heard"),
  });
  return await joining.catch((error: unknown) => {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([
      `GATEWAY_PEER_HOST, GATEWAY_PEER_PORT: cannot listen on ${host}:${port} (${String(error)}); write an address of this machine and a free port, or 0`,
    ]);
  });
}

/** All are counted. Whoever has no key is nobody of ours: that is worth a line, now and then. */
function refusals(metrics: PeerParts["metrics"], log: Logger): PeersParts["refused"] {
  let quietUntilMs = 0;
  return (why) => {
    metrics.recordPeerRejection(why);
    const nowMs = systemClock.monotonicMs();
    if (why !== "handshake" || nowMs < quietUntilMs) return;
    quietUntilMs = nowMs + REFUSAL_LINE_EVERY_MS;
    log.warn({}, "somebody without a key of this gateway knocked at its door for instances");
  };
}

function peerRulesOf(config: Config): PeersParts["rules"] {
  return {
    clock: systemClock,
    timers: systemTimers,
    pingEveryMs: PEER_PING_EVERY_MS,
    pingTimeoutMs: PEER_PING_TIMEOUT_MS,
    quietMaxMs: PEER_QUIET_MAX_MS,
    everyMs: PRESENT_EVERY_MS,
    ttlMs: PRESENT_TTL_MS,
    connectTimeoutMs: config.GATEWAY_CONNECT_TIMEOUT_MS,
    calls: callLimitsOf(config),
  };
}

const REFUSAL_LINE_EVERY_MS = 60_000;
const RUN_BYTES = 9;
const EVERY_ADDRESS: readonly string[] = ["0.0.0.0", "::"];

/** The address itself, or where it is every address the first one of this machine that others can use. */
function reachableHost(host: string): string {
  if (!EVERY_ADDRESS.includes(host)) return host;
  const outside = machineAddresses().filter(({ internal, scopeid }) => !internal && (scopeid ?? 0) === 0);
  return (outside.find(({ family }) => family === "IPv4") ?? outside[0])?.address ?? "127.0.0.1";
}

function machineAddresses() {
  try {
    return Object.values(os.networkInterfaces()).flatMap((addresses) => addresses ?? []);
  } catch (error) {
    throw new ConfigError([
      `GATEWAY_PEER_URL: set it, because the addresses of this machine cannot be asked for (${String(error)})`,
    ]);
  }
}

function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function callLimitsOf(config: Config): CallLimits {
  return {
    firstByteTimeoutMs: config.GATEWAY_FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: config.GATEWAY_IDLE_TIMEOUT_MS,
  };
}

/** Advice only: a node that is away is its workspace's matter. */
export function nodeCheck(nodes: Pick<Nodes, "counts">): Check {
  return {
    name: "nodes",
    run: async () => {
      const { total, connected, here, aside } = nodes.counts;
      const elsewhere = connected > here ? `, ${connected - here} of them to other instances` : "";
      const detail = `${connected} of ${total} connected${elsewhere}`;
      return { ok: true, detail: aside === 0 ? detail : `${detail}, ${aside} set aside after wrong answers` };
    },
  };
}
