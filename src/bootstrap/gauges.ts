import type { Fleet } from "../domain/fleet/fleet.ts";
import type { Edge } from "../edge/server.ts";
import type { IngestPipeline } from "../io/journal/ingest-pipeline.ts";
import type { GaugeSources } from "../io/telemetry/metrics.ts";
import type { Nodes } from "../io/tunnel/nodes.ts";
import type { boundsOf } from "./bounds.ts";

type Gauged = ReturnType<typeof boundsOf> & {
  readonly nodes: Pick<Nodes, "counts">;
  readonly sharing: { readonly fleet: Pick<Fleet, "isLeader" | "instanceCount">; readonly standing: string };
};

export function gaugesOf(edge: Edge, books: IngestPipeline, { queue, breakers, nodes, sharing }: Gauged): GaugeSources {
  return {
    runningRequests: () => edge.door.running,
    draining: () => (edge.door.draining ? 1 : 0),
    journalPending: () => books.pending(),
    journalBroken: () => (books.journal.isBroken ? 1 : 0),
    journalDeadLetters: () => {
      const { records, segments } = books.deadLetters();
      return records + segments;
    },
    queueActive: () => queue.inUse,
    queueWaiting: () => queue.queued,
    circuitsOpen: () => breakers.aside.length,
    nodesConnected: () => nodes.counts.here,
    instances: () => sharing.fleet.instanceCount,
    isLeader: () => (sharing.fleet.isLeader ? 1 : 0),
    sharedStateOpen: () => (sharing.standing === "alone" || sharing.standing === "open" ? 1 : 0),
  };
}
