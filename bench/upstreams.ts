import type { ChildProcess } from "node:child_process";
import path from "node:path";
import { z } from "zod";
import type { Bench } from "./candidate.ts";
import { type Children, freePort } from "./children.ts";
import { nginxCommand, upstreamConfig } from "./nginx.ts";

const messageSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("listening") }),
  z.object({ kind: z.literal("cancelled"), atNs: z.string() }),
  z.object({ kind: z.literal("counts"), openStreams: z.number(), framesSent: z.number() }),
]);

export type SourceCounts = { readonly openStreams: number; readonly framesSent: number };

const REPLY_MS_MAX = 5_000;

/** The fast upstreams: nginx for complete responses, sse-source for streams. */
export async function startUpstreams(
  children: Children,
  bench: Pick<Bench, "node" | "root" | "folder">,
): Promise<{ readonly ports: Bench["upstream"]; readonly source: Source }> {
  const json = await freePort();
  const stream = await freePort();
  const own = path.join(bench.folder, "nginx-upstream");
  children.start(nginxCommand(own, upstreamConfig(own, json)), {
    core: "load",
    logFile: path.join(bench.folder, "nginx-upstream.log"),
  });
  const child = children.start([bench.node, path.join(bench.root, "bench/sse-source.ts"), String(stream)], {
    core: "load",
    logFile: path.join(bench.folder, "sse-source.log"),
    talk: "ipc",
  });
  const source = new Source(child);
  await source.listening();
  return { ports: { json, stream }, source };
}

type UpstreamReport = z.infer<typeof messageSchema>;

/** Controls the streaming upstream process. */
export class Source {
  readonly #child: ChildProcess;
  readonly #cancelled: bigint[] = [];
  readonly #waiting = new Set<(report: UpstreamReport) => void>();

  constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", (message) => {
      const report = messageSchema.parse(message);
      if (report.kind === "cancelled") this.#cancelled.push(BigInt(report.atNs));
      else for (const waiter of this.#waiting) waiter(report);
    });
  }

  async listening(): Promise<void> {
    await this.#next();
  }

  async counts(): Promise<SourceCounts> {
    const reply = this.#next();
    this.#child.send({ kind: "counts" });
    const report = await reply;
    if (report.kind !== "counts") throw new Error("the source answered something else");
    return report;
  }

  /** Times at which clients disconnected from unfinished streams, since the last call. */
  takeCancelled(): readonly bigint[] {
    return this.#cancelled.splice(0);
  }

  #next(): Promise<UpstreamReport> {
    return new Promise((resolve, reject) => {
      const give = (report: UpstreamReport) => {
        clearTimeout(timer);
        this.#waiting.delete(give);
        resolve(report);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(give);
        reject(new Error("the streaming upstream does not answer"));
      }, REPLY_MS_MAX);
      this.#waiting.add(give);
    });
  }
}
