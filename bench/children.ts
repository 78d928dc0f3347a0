import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type ProcUnits, readTree, sumTree, type TreeUse } from "./proc.ts";

const STOP_WAIT_MS = 5_000;

export type Core = "candidate" | "load";

export type ChildOptions = {
  readonly core: Core;
  readonly env?: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly talk?: "ipc";
};

/** The processes of a run, by pid, so that no other process is ever stopped. */
export class Children {
  readonly #running = new Map<number, ChildProcess>();
  readonly #others: (() => Promise<void>)[] = [];
  readonly #cores: ReadonlyMap<Core, string> | undefined;

  constructor(cores: ReadonlyMap<Core, string> | undefined) {
    this.#cores = cores;
  }

  start(command: readonly string[], options: ChildOptions): ChildProcess {
    const core = this.#cores?.get(options.core);
    const [file = "", ...args] = core === undefined ? command : ["taskset", "-c", core, ...command];
    const log = openSync(options.logFile, "a");
    const child = spawn(file, args, {
      env: { ...process.env, ...options.env },
      stdio: ["ignore", log, log, ...(options.talk === undefined ? [] : [options.talk])],
    });
    closeSync(log);
    const pid = child.pid;
    if (pid === undefined) throw new Error(`cannot start ${command.join(" ")}`);
    this.#running.set(pid, child);
    child.once("exit", () => this.#running.delete(pid));
    return child;
  }

  /** Terminates the process tree, and kills it when it does not exit in time. */
  async stop(child: ChildProcess): Promise<void> {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const below = readTree(child.pid).map((stat) => stat.pid);
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const waited = new AbortController();
    await Promise.race([ended, sleep(STOP_WAIT_MS, undefined, { signal: waited.signal }).catch(() => undefined)]);
    waited.abort();
    if (child.exitCode === null && child.signalCode === null) for (const pid of below.toReversed()) kill(pid);
  }

  /** Adds a process that was started elsewhere. */
  alsoStop(stop: () => Promise<void>): void {
    this.#others.push(stop);
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running.values()].map((child) => this.stop(child)));
    for (const stop of this.#others.splice(0)) await stop();
  }

  /** Kills synchronously, for an exit handler that cannot wait. */
  killAll(): void {
    for (const pid of this.#running.keys()) for (const stat of readTree(pid).toReversed()) kill(stat.pid);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    return;
  }
}

export function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

export function useOf(child: ChildProcess, units: ProcUnits): TreeUse {
  return sumTree(child.pid === undefined ? [] : readTree(child.pid), units);
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

export function readUnits(): ProcUnits {
  return { ticksPerSecond: getconf("CLK_TCK", 100), pageBytes: getconf("PAGESIZE", 4096) };
}

function getconf(name: string, fallback: number): number {
  const value = Number(spawnSync("getconf", [name], { encoding: "utf8" }).stdout);
  return Number.isFinite(value) && value > 0 ? value : fallback;
}
