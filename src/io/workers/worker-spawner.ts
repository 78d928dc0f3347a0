import cluster, { type Worker as ClusterWorker } from "node:cluster";
import { Duplex } from "node:stream";
import { isJsonObject } from "../../kit/json.ts";
import type { DatabaseLock } from "./database-lock.ts";
import { IPC_PIPE_FD } from "./ipc-channel.ts";
import { MergedMetrics } from "./merged-metrics.ts";
import { RPC_PROTOCOL_VERSION, type StartupInfo, type WorkerAssignment } from "./rpc-protocol.ts";
import { type LifecycleHandlers, type RecordedOutcomes, WorkerRpcServer } from "./rpc-server.ts";
import type { SharedResources } from "./shared-resources.ts";
import type { WorkerProcess } from "./worker-supervisor.ts";

export type WorkerSpawnerDeps = {
  readonly shared: SharedResources<WorkerRpcServer>;
  readonly assign: (slot: number) => WorkerAssignment;
  readonly databaseLock: DatabaseLock;
};

/**
 * Forks worker processes that share the port. node:cluster hands them connections round-robin; their RPC calls use a
 * separate pipe, so that no response waits behind a connection.
 */
export class WorkerSpawner {
  readonly #deps: WorkerSpawnerDeps;
  readonly #servers = new Map<WorkerProcess, WorkerRpcServer>();
  /** Counters and histograms of exited workers. */
  readonly #exitedMetrics = new MergedMetrics();

  constructor(deps: WorkerSpawnerDeps) {
    this.#deps = deps;
    deps.databaseLock.onChange((isHeld) => {
      for (const server of this.#servers.values()) server.notify({ is: "database_lock", isHeld });
    });
    cluster.setupPrimary({ stdio: ["ignore", "inherit", "inherit", "ipc", "pipe"] });
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  /** Throws when the system cannot create a process. */
  spawn(slot: number): WorkerProcess {
    const child = cluster.fork();
    const ready = Promise.withResolvers<StartupInfo>();
    // Emitted when the process could not be created; otherwise `close` follows.
    child.on("error", (error) => ready.reject(error));
    ready.promise.catch(() => undefined);
    const exit = Promise.withResolvers<string>();
    const handlers = this.#lifecycleHandlers(slot, ready, () => this.#tellDatabaseLock(server));
    const server = new WorkerRpcServer(pipeTo(child), this.#deps.shared, handlers);
    const worker: WorkerProcess = {
      slot,
      pid: child.process.pid,
      ready: ready.promise,
      exited: exit.promise,
      drain: ({ keepIdleConnections }) => server.notify({ is: "drain", keepIdleConnections }),
      kill: () => void child.process.kill("SIGKILL"),
    };
    this.#servers.set(worker, server);
    const unacceptedConnections = trackUnacceptedConnections(child.process);
    // `close` instead of `exit`: its last calls may still be in the pipe.
    child.process.once("close", (code: number | null, signal: string | null) => {
      const exitStatus = signal ?? `exit code ${code}`;
      for (const connection of unacceptedConnections()) connection.close();
      ready.reject(new Error(`a worker exited during startup (${exitStatus})`));
      void server.workerExited().then(() => exit.resolve(exitStatus));
    });
    return worker;
  }

  /** Settles what an exited worker had reserved, and keeps its counters. Idempotent. */
  async settleReservations(worker: WorkerProcess, outcomes: RecordedOutcomes): Promise<void> {
    const server = this.#servers.get(worker);
    if (server === undefined) return;
    await server.settleReservations(outcomes);
    this.#servers.delete(worker);
    if (server.lastMetrics !== undefined) this.#exitedMetrics.addWithoutGauges(server.lastMetrics);
  }

  #tellDatabaseLock(server: WorkerRpcServer): void {
    server.notify({ is: "database_lock", isHeld: this.#deps.databaseLock.isHeld });
  }

  #lifecycleHandlers(slot: number, ready: PromiseWithResolvers<StartupInfo>, onJoin: () => void): LifecycleHandlers {
    let startup: StartupInfo | undefined;
    return {
      join: ({ protocol }) => {
        if (protocol !== RPC_PROTOCOL_VERSION)
          throw new Error(
            "this version differs from the one that the gateway was started with: stop the gateway and start it again",
          );
        onJoin();
        return this.#deps.assign(slot);
      },
      reportStarted: (info) => {
        startup = info;
        return null;
      },
      reportReady: () => {
        if (startup !== undefined) ready.resolve(startup);
        return null;
      },
      collectMetrics: () => this.#collectMetrics(),
      publish: ([topic, message]) => {
        for (const server of this.#servers.values()) server.notify({ is: "published", topic, message });
        return null;
      },
    };
  }

  async #collectMetrics(): Promise<string> {
    const texts = await Promise.all([...this.#servers.values()].map((server) => server.requestMetrics()));
    const merged = new MergedMetrics();
    for (const text of texts) if (text !== undefined) merged.add(text);
    // Added last, so that the order of families is that of a running worker.
    return merged.add(this.#exitedMetrics.text()).text();
  }
}

function pipeTo({ process: { stdio } }: ClusterWorker): Duplex {
  // Missing when the limit of open files is reached.
  const pipe = stdio?.[IPC_PIPE_FD];
  if (pipe instanceof Duplex) return pipe;
  throw new Error("a worker was started without its pipe");
}

type HandedConnection = { close(): void };

/**
 * Connections that were sent to a worker and not acknowledged by it. node:cluster keeps them open until then, so they
 * are closed here when the worker crashes: otherwise their clients would wait forever.
 */
function trackUnacceptedConnections(child: ClusterWorker["process"]): () => Iterable<HandedConnection> {
  const unaccepted = new Map<unknown, HandedConnection>();
  child.send = new Proxy(child.send, {
    apply(send, self, args: unknown[]) {
      const [message, connection] = args;
      if (isJsonObject(message) && message["act"] === "newconn" && isClosable(connection))
        unaccepted.set(message["seq"], connection);
      return Reflect.apply(send, self, args);
    },
  });
  child.on("internalMessage", (message: unknown) => {
    if (isJsonObject(message) && message["ack"] !== undefined) unaccepted.delete(message["ack"]);
  });
  return () => unaccepted.values();
}

function isClosable(value: unknown): value is HandedConnection {
  return typeof value === "object" && value !== null && "close" in value && typeof value.close === "function";
}
