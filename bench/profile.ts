import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import type { Bench, Shape } from "./candidate.ts";
import { PREPARE, startUntilServed } from "./candidates.ts";
import { runLoad } from "./load.ts";
import type { Options } from "./options.ts";

const profileSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
    }),
  ),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});

export type SelfTime = { readonly where: string; readonly share: number };

const ROWS = 45;
const CONNECTIONS = 32;
const SHAPES: readonly (readonly [string, Shape])[] = [
  ["JSON", { is: "json" }],
  ["stream without gaps", { is: "stream", paceMs: 0 }],
];

/** Runs the gateway alone under the profiler, once for each kind of load, and prints where the time goes. */
export async function runProfile(bench: Bench, options: Options): Promise<void> {
  for (const [title, shape] of SHAPES) {
    const folder = path.join(bench.folder, "profile");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const flags = ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--disable-warning=ExperimentalWarning"];
    const gatewayCommand = [bench.node, ...flags, path.join(bench.root, "src/cli.ts"), "serve"];
    const own = { ...bench, gatewayCommand, folder: path.join(bench.folder, title.replaceAll(" ", "-")) };
    mkdirSync(own.folder, { recursive: true });
    const prepared = await PREPARE.gateway(own);
    if (prepared.launch === undefined) throw new Error("the gateway has no process");
    const { child } = await startUntilServed(prepared, prepared.launch);
    const seconds = options.sizes.jsonSeconds * 2;
    const summary = await runLoad(prepared.target(shape), { connections: CONNECTIONS, seconds, folder: own.folder });
    await bench.children.stop(child);
    process.stdout.write(`\n## ${title}: ${summary.requests} calls\n`);
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"))) {
      const profile: unknown = JSON.parse(readFileSync(path.join(folder, file), "utf8"));
      process.stdout.write(`\n${file}\n${printSelfTimes(selfTimes(profile, bench.root))}\n`);
    }
  }
}

/** Share of the busy time that each function spent in itself. */
export function selfTimes(profile: unknown, root: string): readonly SelfTime[] {
  const { nodes, samples, timeDeltas } = profileSchema.parse(profile);
  const names = new Map<number, string>();
  for (const { id, callFrame } of nodes) {
    const file = callFrame.url.replace(/^file:\/\//, "").replace(`${root}/`, "");
    const place = file === "" ? "" : ` ${file}:${callFrame.lineNumber + 1}`;
    names.set(id, `${callFrame.functionName || "(anonymous)"}${place}`);
  }
  const spent = new Map<string, number>();
  let busy = 0;
  for (const [at, id] of samples.entries()) {
    const name = names.get(id) ?? "(unknown)";
    if (name === "(idle)") continue;
    const micros = timeDeltas[at] ?? 0;
    spent.set(name, (spent.get(name) ?? 0) + micros);
    busy += micros;
  }
  return [...spent]
    .map(([where, micros]) => ({ where, share: busy === 0 ? 0 : micros / busy }))
    .sort((a, b) => b.share - a.share);
}

function printSelfTimes(rows: readonly SelfTime[]): string {
  return rows
    .slice(0, ROWS)
    .map(({ where, share }) => `${(share * 100).toFixed(1).padStart(5)} %  ${where}`)
    .join("\n");
}
