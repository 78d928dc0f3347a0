import type { CandidateName } from "./candidate.ts";
import type { DetectorCost } from "./detector-cost.ts";

/** One repetition under load. */
export type LoadRun = {
  readonly perSecond: number;
  /** Absent for the direct call, which has no process in between. */
  readonly cpuMicros: number | undefined;
  /** Of the Redis that instances share. */
  readonly redisMicros?: number | undefined;
  readonly bad: number;
};

/** Microseconds. */
export type Spread = { readonly p50: number | undefined; readonly p99: number | undefined; readonly samples: number };

/** `streams` is the number that was actually open. */
export type OpenStreams = { readonly rssBytes: number; readonly streams: number };

/** Non-streaming responses over this many concurrent connections. */
export type Step = {
  readonly connections: number;
  readonly perSecond: number;
  readonly p99Micros: number;
  readonly bad: number;
};

/** Measurements of one candidate, one entry per repetition. */
export type CandidateResult = {
  readonly name: CandidateName;
  readonly title: string;
  readonly version: string;
  readonly startsMs: number[];
  idleBytes?: number;
  openStreams?: OpenStreams;
  /** The same with many connections. */
  readonly manyStreams: OpenStreams[];
  afterBytes?: number;
  /** Why the results are invalid. */
  invalid?: string;
  readonly json: LoadRun[];
  readonly burst: LoadRun[];
  readonly paced: LoadRun[];
  /** Translated streams without pauses; empty when a candidate does not translate. */
  readonly translated: LoadRun[];
  /** The connection ramp. */
  readonly ladder: Step[];
  readonly latency: Spread[];
  readonly firstByte: Spread[];
  /** Milliseconds; undefined when the upstream connection stayed open. */
  readonly cancelMs: (number | undefined)[];
};

export type Skipped = { readonly name: CandidateName; readonly why: string };

export type BenchResult = {
  readonly mode: "full" | "quick";
  readonly startedAt: string;
  readonly tookSeconds: number;
  readonly machine: Machine;
  readonly repetitions: number;
  /** Share of CPU used by other processes during the repetitions. */
  readonly foreignShare: number;
  /** Share of CPU that the hypervisor gave to other virtual machines. */
  readonly stolenShare: number;
  readonly candidates: readonly CandidateResult[];
  readonly skipped: readonly Skipped[];
  /** Absent in results from before they were measured. */
  readonly detectors?: readonly DetectorCost[];
};

export type Machine = {
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly kernel: string;
  readonly pinned: boolean;
  readonly versions: Readonly<Record<string, string>>;
};

export function emptyResult(name: CandidateName, title: string, version: string): CandidateResult {
  return {
    name,
    title,
    version,
    startsMs: [],
    manyStreams: [],
    ladder: [],
    json: [],
    burst: [],
    paced: [],
    translated: [],
    latency: [],
    firstByte: [],
    cancelMs: [],
  };
}
