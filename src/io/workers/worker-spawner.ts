import cluster, { type Worker } from "node:cluster";
import { Duplex } from "node:stream";
import type { Parsed } from "./ipc-channel.ts";
import { MergedMetrics } from "./merged-metrics.ts";
import { PIPE_FD } from "./pipe.ts";
import { RPC_PROTOCOL_VERSION, type StartupInfo, type WorkerAssignment } from "./rpc-protocol.ts";
import { type RecordedOutcomes, type SharedResources, type WorkerHandlers, WorkerRpcServer } from "./rpc-server.ts";
import type { WorkerProcess } from "./worker-supervisor.ts";

export type WorkerSpawnerDeps = {
  readonly shared: SharedResources;
  readonly assign: (slot: number) => WorkerAssignment;
};

/**
 * Worker processes that share the port. Connections are handed to them in turn through the channel of node:cluster;
 * what they ask goes through a pipe of its own, so that no answer waits behind a connection.
 */
export class WorkerSpawner {
  readonly #deps: WorkerSpawnerDeps;
  readonly #servers = new Map<WorkerProcess, WorkerRpcServer>();
  /** What workers that have ended had counted. */
  readonly #exitedMetrics = new MergedMetrics();

  constructor(deps: WorkerSpawnerDeps) {
    this.#deps = deps;
    cluster.setupPrimary({ stdio: ["ignore", "inherit", "inherit", "ipc", "pipe"] });
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  spawn(slot: number): WorkerProcess {
    const worker = cluster.fork();
    const ready = Promise.withResolvers<StartupInfo>();
    // It could not be started at all; `close` follows where it could.
    worker.on("error", (error) => ready.reject(error));
    ready.promise.catch(() => undefined);
    const { promise: exited, resolve: end } = Promise.withResolvers<string>();
    const desk = new WorkerRpcServer(pipeTo(worker), this.#deps.shared, this.#workerHandlers(slot, ready));
    const hand: WorkerProcess = {
      slot,
      pid: worker.process.pid,
      ready: ready.promise,
      exited,
      drain: (lingering) => desk.tell({ is: "drain", lingering }),
      kill: () => void worker.process.kill("SIGKILL"),
    };
    this.#servers.set(hand, desk);
    const untaken = trackUnacceptedConnections(worker.process);
    // Not "exit": what it said last may still be in the pipe.
    worker.process.once("close", (code: number | null, signal: string | null) => {
      const how = signal ?? `exit code ${code}`;
      for (const connection of untaken()) connection.close();
      ready.reject(new Error(`a worker ended while it started (${how})`));
      void desk.leave().then(() => end(how));
    });
    return hand;
  }

  /** What the worker reserved ends as the books say, and its counts are kept. Again is no harm. */
  async settleReservations(hand: WorkerProcess, booked: RecordedOutcomes): Promise<void> {
    const desk = this.#servers.get(hand);
    if (desk === undefined) return;
    await desk.release(booked);
    this.#servers.delete(hand);
    if (desk.lastMetrics !== undefined) this.#exitedMetrics.add(desk.lastMetrics, "lasting");
  }

  #workerHandlers(slot: number, ready: PromiseWithResolvers<StartupInfo>): WorkerHandlers {
    let shown: StartupInfo | undefined;
    return {
      hello: ({ protocol }) => {
        if (protocol !== RPC_PROTOCOL_VERSION)
          throw new Error("this version is not the one that the gateway was started with: stop it and start it again");
        return this.#deps.assign(slot);
      },
      up: (up) => {
        shown = up;
        return null;
      },
      ready: () => {
        if (shown !== undefined) ready.resolve(shown);
        return null;
      },
      metrics: () => this.#collectAllMetrics(),
      publish: (topic, message) => {
        for (const desk of this.#servers.values()) desk.tell({ is: "told", topic, message });
      },
    };
  }

  async #collectAllMetrics(): Promise<string> {
    const texts = await Promise.all([...this.#servers.values()].map((desk) => desk.measure()));
    const merged = new MergedMetrics();
    for (const text of texts) if (text !== undefined) merged.add(text);
    // Last, so that the order stays that of a worker.
    return merged.add(this.#exitedMetrics.text()).text();
  }
}

function pipeTo({ process: { stdio } }: Worker): Duplex {
  // Without any where there are too many open files.
  const pipe = stdio?.[PIPE_FD];
  if (pipe instanceof Duplex) return pipe;
  throw new Error("a worker was started without its pipe");
}

type HandedConnection = { close(): void };

/**
 * Connections that were handed to a worker and that it has not taken. node:cluster waits for its word for ever, and keeps
 * them open: were they not closed when it dies, their clients would wait with it.
 */
function trackUnacceptedConnections(child: Worker["process"]): () => Iterable<HandedConnection> {
  const handed = new Map<unknown, HandedConnection>();
  child.send = new Proxy(child.send, {
    apply(send, self, args: Parsed[]) {
      const [message, connection] = args;
      if (message?.act === "newconn" && typeof connection?.close === "function") handed.set(message.seq, connection);
      return Reflect.apply(send, self, args);
    },
  });
  child.on("internalMessage", (message: Parsed) => {
    if (message?.ack !== undefined) handed.delete(message.ack);
  });
  return () => handed.values();
}
