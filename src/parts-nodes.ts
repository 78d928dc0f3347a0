import type { Check } from "./app/manage/deps.ts";
import type { Config } from "./config.ts";
import type { Snapshot } from "./domain/catalogue/catalogue.ts";
import type { Store } from "./io/store/sql/store.ts";
import type { Logger } from "./io/telemetry/log.ts";
import { type NodeEvents, Nodes } from "./io/tunnel/nodes.ts";
import { systemClock } from "./kit/clock.ts";
import type { Ids } from "./kit/ids.ts";
import { systemTimers } from "./kit/timers.ts";
import { breakerRulesOf } from "./parts.ts";

/** Shorter than any proxy on the way takes to close what is silent. */
const PING_EVERY_MS = 15_000;
const PING_TIMEOUT_MS = 10_000;
const ANNOUNCE_EVERY_MS = 15_000;
/** The longest time aside of one that keeps answering what cannot be, in times of the first. */
const ASIDE_TIMES_MAX = 120;

/** The book, and where it tells what becomes of nodes by itself: the store is opened later. */
type HeldNodes = { readonly nodes: Nodes; tell(told: NodeEvents): void };

/** The book of nodes, and the way to each: still empty, so nobody is let in. */
export function holdNodes(config: Config, snapshot: () => Snapshot): HeldNodes {
  let events: NodeEvents | undefined;
  const { GATEWAY_ASIDE_MS: asideMs } = config;
  const nodes = new Nodes(
    {
      clock: systemClock,
      timers: systemTimers,
      pingEveryMs: PING_EVERY_MS,
      pingTimeoutMs: PING_TIMEOUT_MS,
      announceEveryMs: ANNOUNCE_EVERY_MS,
      calls: {
        firstByteTimeoutMs: config.GATEWAY_FIRST_BYTE_TIMEOUT_MS,
        idleTimeoutMs: config.GATEWAY_IDLE_TIMEOUT_MS,
      },
      breakers: breakerRulesOf(config),
      aside: { firstMs: asideMs, mostMs: ASIDE_TIMES_MAX * asideMs },
    },
    snapshot,
    {
      seen: (node, atMs) => events?.seen(node, atMs),
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
  ids: Ids,
  log: Logger,
): Promise<void> {
  await reloadNodes(store, nodes, null);
  const kept = (done: Promise<void>, otherwise: string) =>
    void done.catch((error: unknown) => log.warn({ error: String(error) }, otherwise));
  tell({
    seen: ({ id }, atMs) => kept(store.nodes.seen([id], atMs), "when a node was seen could not be kept"),
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
    const kept = await (workspaceId === null ? store.nodes.loadAll() : store.nodes.loadOf(workspaceId));
    // What was changed here meanwhile may be newer than what was read.
    if (nodes.changes !== before) continue;
    nodes.replace(workspaceId, kept);
    return;
  }
}

/** Advice only: a node that is away is its workspace's matter. */
export function nodeCheck(nodes: Pick<Nodes, "counts">): Check {
  return {
    name: "nodes",
    run: async () => {
      const { total, connected, aside } = nodes.counts;
      const detail = `${connected} of ${total} connected`;
      return { ok: true, detail: aside === 0 ? detail : `${detail}, ${aside} set aside after wrong answers` };
    },
  };
}
