import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

/** URL, headers and body: the only differences between candidates for the load generator. */
export type Target = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

const summarySchema = z.object({
  requests: z.number(),
  durationMicros: z.number(),
  bytes: z.number(),
  badStatus: z.number(),
  socketErrors: z.number(),
  timeouts: z.number(),
  p50Micros: z.number(),
  p99Micros: z.number(),
});

export type LoadSummary = z.infer<typeof summarySchema>;

export type LoadOptions = { readonly connections: number; readonly seconds: number; readonly folder: string };

const SCRIPT = path.join(import.meta.dirname, "post.lua");
/** wrk exits by itself; this limit ends one that hangs. */
const OVERRUN_SECONDS = 15;

/** Runs wrk on the core of this process. A stream counts when its last byte has arrived. */
export async function runLoad(target: Target, options: LoadOptions): Promise<LoadSummary> {
  const bodyFile = path.join(options.folder, "body.json");
  writeFileSync(bodyFile, target.body);
  const wrkArgs = ["-t1", `-c${options.connections}`, `-d${options.seconds}s`, "--timeout", "30s", "-s", SCRIPT];
  const output = await run([...wrkArgs, target.url, "--", bodyFile, ...Object.entries(target.headers).flat()], {
    seconds: options.seconds + OVERRUN_SECONDS,
  });
  const line = /^SUMMARY (.*)$/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`wrk gave no summary for ${target.url}:\n${output}`);
  const summary: unknown = JSON.parse(line);
  return summarySchema.parse(summary);
}

function run(args: readonly string[], limit: { readonly seconds: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("wrk", args, { stdio: ["ignore", "pipe", "pipe"], timeout: limit.seconds * 1000 });
    let output = "";
    const keep = (part: Buffer) => {
      output = (output + part.toString()).slice(-16_384);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.on("error", (error) => reject(new Error(`cannot run wrk: ${error.message}`)));
    child.on("close", (code) =>
      code === 0 ? resolve(output) : reject(new Error(`wrk ended with ${code}:\n${output}`)),
    );
  });
}
