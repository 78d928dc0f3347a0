import { parseArgs } from "node:util";
import { allowVirtualTimers } from "../support/virtual-timers.ts";
import { installDeterminismGuard } from "./determinism-guard.ts";
import { SEEN } from "./known-seeds.ts";
import { MONEY_MUTANTS } from "./money/mutants.ts";
import { MUTANTS } from "./mutants.ts";
import { allowMutants } from "./mutate.ts";
import { type RunResult, runMany } from "./seeds.ts";
import type { simulate } from "./simulation.ts";

/** Runs seeds in their own process, which has no other clock or randomness. */
const { values } = parseArgs({
  options: {
    /** Which simulation: of requests, or of money at several instances. */
    of: { type: "string", default: "requests" },
    /** Only this one, with a full trace. */
    seed: { type: "string" },
    from: { type: "string", default: "1" },
    /** At most this many seeds … */
    seeds: { type: "string", default: "1000" },
    /** … or as many as fit into this time, and at least this many. */
    "for-ms": { type: "string", default: "3600000" },
    least: { type: "string", default: "0" },
    /** First those at which mutants were detected. */
    known: { type: "boolean", default: false },
    /** Applies the faults of one mutant; `all`: of each of them in turn. */
    mutant: { type: "string" },
  },
});

const monotonicMs = performance.now.bind(performance);
const of = values.of === "money" ? "money" : "requests";
const range = {
  first: values.known ? [...new Set(Object.values(SEEN[of]))] : [],
  from: Number(values.from),
  most: Number(values.seeds),
  least: Number(values.least),
  forMs: Number(values["for-ms"]),
  monotonicMs,
};
/** Imported by name, so that a mutant can replace it. */
const PROGRAMS = {
  requests: { file: "./simulation.ts", mutants: MUTANTS, forbid: installDeterminismGuard },
  money: {
    file: "./money/simulation.ts",
    mutants: MONEY_MUTANTS,
    forbid: () => {
      installDeterminismGuard();
      allowVirtualTimers();
    },
  },
};
const { file, mutants, forbid } = PROGRAMS[of];
allowMutants(mutants);
const chosen = mutants.filter(({ name }) => values.mutant === "all" || values.mutant === name);
if (values.mutant !== undefined && chosen.length === 0) throw new Error(`there is no mutant ${values.mutant}`);
const programs = new Map<string, typeof simulate | string>();
// Everything is loaded first: loading needs the real clock and file system.
const unchanged = await loaded(file);
if (chosen.length === 0) programs.set("none", unchanged);
for (const { name } of chosen) programs.set(name, await loaded(`${file}?mutant=${name}`));
forbid();
for (const [mutant, program] of programs) {
  if (typeof program === "string") print({ mutant, problem: program });
  else if (values.seed === undefined) print({ mutant, ...(await search(mutant, program)) });
  else await showOne(program, Number(values.seed));
}

/** The seed where the mutant was detected before, then all. */
async function search(mutant: string, program: typeof simulate): Promise<RunResult> {
  const seen = SEEN[of][mutant];
  if (seen !== undefined) {
    const found = await runMany(program, { ...range, first: [seen], most: 1 });
    if (found.broken !== undefined) return found;
  }
  return runMany(program, range);
}

async function loaded(name: string): Promise<typeof simulate | string> {
  try {
    const program: { simulate: typeof simulate } = await import(name);
    return program.simulate;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function print(line: { mutant: string } & (RunResult | { problem: string })): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function showOne(program: typeof simulate, seed: number): Promise<void> {
  const { trace = [], violations, hash } = await program(seed, "traced");
  process.stdout.write(`${trace.join("\n")}\nseed ${seed}: ${violations.length} broken, trace ${hash}\n`);
  if (violations.length > 0) process.exitCode = 1;
}
