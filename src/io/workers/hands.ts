import cluster, { type Worker } from "node:cluster";
import { Duplex } from "node:stream";
import type { Hand } from "./crew.ts";
import { Desk, type Place, type Shared } from "./desk.ts";
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
    // Not "exit": what it said last may still be in the pipe.
    worker.process.once("close", (code: number | null, signal: string | null) => {
      const how = signal ?? `exit code ${code}`;
      ready.reject(new Error(`a worker ended while it started (${how})`));
      void desk.leave().then(() => end(how));
    });
    // It could not be started at all; `close` follows where it could.
    worker.on("error", (error) => ready.reject(error));
    return hand;
  }

  /** What the worker reserved and its journal did not account for is free again, and its counts are kept. */
  async release(hand: Hand): Promise<{ readonly holds: number }> {
    const desk = this.#desks.get(hand);
    this.#desks.delete(hand);
    if (desk?.lastMeasure !== undefined) this.#past.add(desk.lastMeasure, "lasting");
    return (await desk?.release()) ?? { holds: 0 };
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
  const pipe = stdio[PIPE_FD];
  if (pipe instanceof Duplex) return pipe;
  throw new Error("a worker was started without its pipe");
}
