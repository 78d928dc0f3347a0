import cluster, { type Worker } from "node:cluster";
import { Duplex } from "node:stream";
import type { Hand } from "./crew.ts";
import { type Booked, Desk, type Place, type Shared } from "./desk.ts";
import type { Parsed } from "./lines.ts";
import { MergedMetrics } from "./merged-metrics.ts";
import { PIPE_FD } from "./pipe.ts";
import { PROTOCOL, type Up, type Welcome } from "./protocol.ts";

export type HandsDeps = {
  readonly shared: Shared;
  readonly welcome: (slot: number) => Welcome;
};

/**
 * Worker processes that share the port. Connections are handed to them in turn through the channel of node:cluster;
 * what they ask goes through a pipe of its own, so that no answer waits behind a connection.
 */
export class Hands {
  readonly #deps: HandsDeps;
  readonly #desks = new Map<Hand, Desk>();
  /** What workers that have ended had counted. */
  readonly #past = new MergedMetrics();

  constructor(deps: HandsDeps) {
    this.#deps = deps;
    cluster.setupPrimary({ stdio: ["ignore", "inherit", "inherit", "ipc", "pipe"] });
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  hire(slot: number): Hand {
    const worker = cluster.fork();
    const ready = Promise.withResolvers<Up>();
    // It could not be started at all; `close` follows where it could.
    worker.on("error", (error) => ready.reject(error));
    ready.promise.catch(() => undefined);
    const { promise: gone, resolve: end } = Promise.withResolvers<string>();
    const desk = new Desk(pipeOf(worker), this.#deps.shared, this.#place(slot, ready));
    const hand: Hand = {
      slot,
      pid: worker.process.pid,
      ready: ready.promise,
      gone,
      drain: (lingering) => desk.tell({ is: "drain", lingering }),
      kill: () => void worker.process.kill("SIGKILL"),
    };
    this.#desks.set(hand, desk);
    const untaken = untakenConnections(worker.process);
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
  async release(hand: Hand, booked: Booked): Promise<void> {
    const desk = this.#desks.get(hand);
    if (desk === undefined) return;
    await desk.release(booked);
    this.#desks.delete(hand);
    if (desk.lastMeasure !== undefined) this.#past.add(desk.lastMeasure, "lasting");
  }

  #place(slot: number, ready: PromiseWithResolvers<Up>): Place {
    let shown: Up | undefined;
    return {
      hello: ({ protocol }) => {
        if (protocol !== PROTOCOL)
          throw new Error("this version is not the one that the gateway was started with: stop it and start it again");
        return this.#deps.welcome(slot);
      },
      up: (up) => {
        shown = up;
        return null;
      },
      ready: () => {
        if (shown !== undefined) ready.resolve(shown);
        return null;
      },
      metrics: () => this.#measureAll(),
      tell: (topic, message) => {
        for (const desk of this.#desks.values()) desk.tell({ is: "told", topic, message });
      },
    };
  }

  async #measureAll(): Promise<string> {
    const texts = await Promise.all([...this.#desks.values()].map((desk) => desk.measure()));
    const merged = new MergedMetrics();
    for (const text of texts) if (text !== undefined) merged.add(text);
    // Last, so that the order stays that of a worker.
    return merged.add(this.#past.text()).text();
  }
}

function pipeOf({ process: { stdio } }: Worker): Duplex {
  // Without any where there are too many open files.
  const pipe = stdio?.[PIPE_FD];
  if (pipe instanceof Duplex) return pipe;
  throw new Error("a worker was started without its pipe");
}

type Connection = { close(): void };

/**
 * Connections that were handed to a worker and that it has not taken. node:cluster waits for its word for ever, and keeps
 * them open: were they not closed when it dies, their clients would wait with it.
 */
function untakenConnections(child: Worker["process"]): () => Iterable<Connection> {
  const handed = new Map<unknown, Connection>();
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
