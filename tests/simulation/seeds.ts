import type { Outcome, simulate } from "./simulation.ts";

/** The result of a run of many seeds. */
export type RunResult = {
  readonly seeds: number;
  readonly requests: number;
  readonly calls: number;
  readonly events: number;
  readonly tally: Readonly<Record<string, number>>;
  /** The first seed that broke a rule, and how. */
  readonly broken?: { readonly seed: number; readonly rule: string; readonly what: string };
};

export type Range = {
  /** Run before the others. */
  readonly first: readonly number[];
  readonly from: number;
  readonly most: number;
  readonly least: number;
  readonly forMs: number;
  readonly monotonicMs: () => number;
};

/** One of this many seeds is run twice and must behave the same. */
const TWICE_EVERY = 10;

/** Runs seeds until one breaks a rule or there were enough. */
export async function runMany(program: typeof simulate, range: Range): Promise<RunResult> {
  const { first, from, most, least, forMs, monotonicMs } = range;
  const startedMs = monotonicMs();
  const traceLimit = Error.stackTraceLimit;
  // Faults are thrown by the thousand, and their stack traces are never read.
  Error.stackTraceLimit = 0;
  const tally: Record<string, number> = {};
  let [seeds, requests, calls, events] = [0, 0, 0, 0];
  let broken: RunResult["broken"];
  while (seeds < most && (seeds < least || monotonicMs() - startedMs < forMs) && broken === undefined) {
    const seed = first[seeds] ?? from + seeds - first.length;
    const outcome = await program(seed);
    seeds += 1;
    requests += outcome.requests;
    calls += outcome.calls;
    events += outcome.events;
    for (const [what, count] of Object.entries(outcome.tally)) tally[what] = (tally[what] ?? 0) + count;
    const again = seeds % TWICE_EVERY === 0 ? await program(seed) : outcome;
    broken = firstOf(outcome, again);
  }
  Error.stackTraceLimit = traceLimit;
  return { seeds, requests, calls, events, tally, ...(broken === undefined ? {} : { broken }) };
}

function firstOf({ seed, violations, hash }: Outcome, again: Outcome): RunResult["broken"] {
  const [violation] = violations;
  if (violation !== undefined) return { seed, rule: violation.rule, what: violation.what };
  return again.hash === hash ? undefined : { seed, rule: "determinism", what: "two runs of one seed differ" };
}
