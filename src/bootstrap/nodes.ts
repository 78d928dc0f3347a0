import type { Check } from "../app/manage/deps.ts";
import type { CatalogueSnapshot } from "../domain/catalogue/catalogue.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { NodeCallLimits } from "../io/tunnel/node-call.ts";
import { type NodeEvents, NodeRegistry } from "../io/tunnel/node-registry.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import { circuitBreakerRules } from "./overload-protection.ts";

/** Shorter than the idle timeout of common proxies. */
const PING_EVERY_MS = 15_000;
const PING_TIMEOUT_MS = 10_000;
const ANNOUNCE_EVERY_MS = 15_000;
const SEEN_EVERY_MS = 30_000;
/** Longest open time of the circuit of a node with implausible responses, as a multiple of the first. */
const OPEN_TIME_FACTOR_MAX = 120;

type NodeRegistryDeps = {
  readonly snapshot: () => CatalogueSnapshot;
  readonly store: Pick<Store, "nodes" | "audit">;
  readonly ids: IdGenerator;
  readonly log: Logger;
};

/** The registry of nodes, still empty: nodes can connect once `reloadNodes` has loaded them. */
export function createNodeRegistry(config: Config, deps: NodeRegistryDeps): NodeRegistry {
  const { GATEWAY_ASIDE_MS: openMs } = config;
  return new NodeRegistry(
    {
      clock: systemClock,
      timers: systemTimers,
      pingEveryMs: PING_EVERY_MS,
      pingTimeoutMs: PING_TIMEOUT_MS,
      announceEveryMs: ANNOUNCE_EVERY_MS,
      calls: nodeCallLimits(config),
      breakers: circuitBreakerRules(config),
      seenEveryMs: SEEN_EVERY_MS,
      circuit: { initialMs: openMs, maxMs: OPEN_TIME_FACTOR_MAX * openMs },
    },
    deps.snapshot,
    nodeEvents(deps),
  );
}

/** Stores what happens to nodes outside of requests; a failure is logged and does not affect the node. */
function nodeEvents({ store, ids, log }: NodeRegistryDeps): NodeEvents {
  return {
    onSeen: (nodeIds, atMs) =>
      void store.nodes
        .recordSeen(nodeIds, atMs)
        .catch((error: unknown) => log.warn({ err: error }, "nodes: storing the last contact failed")),
    onCircuitOpened({ id, workspaceId, name }, { reason, sinceMs, untilMs }) {
      log.warn({ node: id, workspace: workspaceId, reason }, "nodes: implausible response, circuit opened");
      const detail = { name, reason, until: new Date(untilMs).toISOString() };
      const entry = { id: ids.next("aud_"), atMs: sinceMs, actor: "gateway", action: "node.set_aside" };
      void store.audit
        .append({ ...entry, workspaceId, target: id, detail })
        .catch((error: unknown) => log.warn({ err: error }, "nodes: writing the audit entry failed"));
    },
  };
}

/** Loads the nodes of one workspace (null: of all) from the store. */
export async function reloadNodes(
  store: { readonly nodes: Pick<Store["nodes"], "loadAll" | "loadWorkspace"> },
  nodes: Pick<NodeRegistry, "changeCount" | "replaceAll">,
  workspaceId: string | null,
): Promise<void> {
  for (;;) {
    const before = nodes.changeCount;
    const stored = await (workspaceId === null ? store.nodes.loadAll() : store.nodes.loadWorkspace(workspaceId));
    // A change in this process during the read may be newer than what was read.
    if (nodes.changeCount !== before) continue;
    nodes.replaceAll(workspaceId, stored);
    return;
  }
}

/** Advice only: a disconnected node is the concern of its workspace. */
export function nodeCheck(nodes: Pick<NodeRegistry, "counts">): Check {
  return {
    name: "nodes",
    run: async () => {
      const { total, connected, local, circuitOpen } = nodes.counts;
      const elsewhere = connected > local ? `, ${connected - local} of them to other instances` : "";
      const detail = `${connected} of ${total} connected${elsewhere}`;
      return {
        ok: true,
        warning: circuitOpen > 0,
        detail:
          circuitOpen === 0 ? detail : `${detail}, ${circuitOpen} with an open circuit after implausible responses`,
      };
    },
  };
}

export function nodeCallLimits(config: Config): NodeCallLimits {
  return {
    firstByteTimeoutMs: config.GATEWAY_FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: config.GATEWAY_IDLE_TIMEOUT_MS,
  };
}
