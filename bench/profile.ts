import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import type { Bench, Shape } from "./candidate.ts";
import { prepareCandidate, startUntilServed } from "./candidates.ts";
import { runLoad } from "./load.ts";
import type { Options } from "./options.ts";

const profileSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
      children: z.array(z.number()).optional(),
    }),
  ),
  samples: z.array(z.number()),
  /** Microseconds since the previous sample. */
  timeDeltas: z.array(z.number()),
});

type Profile = z.infer<typeof profileSchema>;

export type Share = { readonly where: string; readonly share: number };

/** Summary of a profile: self time by function, total time below our functions, time by package or folder. */
export type Summary = {
  readonly self: readonly Share[];
  readonly below: readonly Share[];
  readonly by: readonly Share[];
};

const ROWS = 40;
const CONNECTIONS = 32;
/** The last part of the load, which is evaluated. */
const WARM_PART = 0.6;
const MICROS_PER_SECOND = 1_000_000;
const SHAPES: readonly (readonly [string, Shape])[] = [
  ["JSON", { is: "json" }],
  ["stream without gaps", { is: "stream", paceMs: 0 }],
];

/** Runs the gateway under the profiler, once per kind of load, and prints where time is spent. */
export async function runProfile(bench: Bench, options: Options): Promise<void> {
  for (const [title, shape] of SHAPES) {
    const folder = path.join(bench.folder, "profile");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const flags = ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--disable-warning=ExperimentalWarning"];
    const gatewayCommand = [bench.node, ...flags, path.join(bench.root, "src/cli.ts"), "serve"];
    const own = { ...bench, gatewayCommand, folder: path.join(bench.folder, title.replaceAll(" ", "-")) };
    mkdirSync(own.folder, { recursive: true });
    const prepared = await prepareCandidate(own, "gateway", []);
    if (prepared.launch === undefined) throw new Error("the gateway has no process");
    const { child } = await startUntilServed(prepared, prepared.launch);
    const seconds = options.sizes.jsonSeconds * 2;
    const summary = await runLoad(prepared.target(shape), { connections: CONNECTIONS, seconds, folder: own.folder });
    await bench.children.stop(child);
    process.stdout.write(`\n## ${title}: ${summary.requests} calls\n`);
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"))) {
      const profile: unknown = JSON.parse(readFileSync(path.join(folder, file), "utf8"));
      const found = summarise(profile, bench.root, seconds * WARM_PART * MICROS_PER_SECOND);
      process.stdout.write(`\n${file}\n\nby room or package\n${print(found.by)}\n`);
      process.stdout.write(`\nin the function itself\n${print(found.self)}\n`);
      process.stdout.write(`\nin our functions with all they call\n${print(found.below)}\n`);
    }
  }
}

/** Only the last part of the samples: start-up and first compilation are excluded. */
export function summarise(profile: unknown, root: string, lastMicros: number): Summary {
  const read = profileSchema.parse(profile);
  const { spent, busy } = selfMicros(read, lastMicros);
  const self = new Map<string, number>();
  const below = new Map<string, number>();
  const by = new Map<string, number>();
  const parents = new Map(read.nodes.flatMap(({ id, children }) => (children ?? []).map((child) => [child, id])));
  const frames = new Map(read.nodes.map(({ id, callFrame }) => [id, placeOf(callFrame, root)]));
  for (const [id, micros] of spent) {
    const place = frames.get(id);
    if (place === undefined) continue;
    add(self, place.name, micros);
    add(by, place.room, micros);
    const above = new Set<string>();
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const caller = frames.get(at);
      if (caller?.room.startsWith("src/")) above.add(caller.name);
    }
    for (const name of above) add(below, name, micros);
  }
  return { self: shares(self, busy), below: shares(below, busy), by: shares(by, busy) };
}

function selfMicros({ nodes, samples, timeDeltas }: Profile, lastMicros: number) {
  const idle = new Set(nodes.filter(({ callFrame }) => callFrame.functionName === "(idle)").map(({ id }) => id));
  const spent = new Map<number, number>();
  let busy = 0;
  let seen = 0;
  for (let at = samples.length - 1; at >= 0 && seen < lastMicros; at--) {
    const id = samples[at] ?? 0;
    const micros = timeDeltas[at] ?? 0;
    seen += micros;
    if (idle.has(id)) continue;
    spent.set(id, (spent.get(id) ?? 0) + micros);
    busy += micros;
  }
  return { spent, busy };
}

function placeOf(frame: Profile["nodes"][number]["callFrame"], root: string) {
  const file = frame.url.replace(/^file:\/\//, "").replace(`${root}/`, "");
  const name = `${frame.functionName || "(anonymous)"}${file === "" ? "" : ` ${file}:${frame.lineNumber + 1}`}`;
  const room = /^(node_modules\/(?:@[^/]+\/)?[^/]+|src\/[^/]+\/[^/]+|node:(?:internal\/)?[^/:]+)/.exec(file)?.[1];
  return { name, room: room ?? (file === "" ? frame.functionName || "(native)" : file) };
}

function add(sums: Map<string, number>, name: string, micros: number): void {
  sums.set(name, (sums.get(name) ?? 0) + micros);
}

function shares(sums: ReadonlyMap<string, number>, busy: number): readonly Share[] {
  return [...sums]
    .map(([where, micros]) => ({ where, share: busy === 0 ? 0 : micros / busy }))
    .sort((a, b) => b.share - a.share);
}

function print(rows: readonly Share[]): string {
  return rows
    .slice(0, ROWS)
    .map(({ where, share }) => `${(share * 100).toFixed(1).padStart(5)} %  ${where}`)
    .join("\n");
}
