import { added, type Figure, median, ratio } from "./maths.ts";
import type { BenchResult, CandidateResult, LoadRun } from "./results.ts";

/** A target value. `found` is undefined when the run did not measure it. */
export type Target = {
  readonly what: string;
  readonly limit: string;
  readonly found: string | undefined;
  readonly met: boolean | undefined;
};

const JSON_TO_BARE_MAX = 1.35;
const JSON_TO_PORTKEY_MAX = 0.25;
const BURST_TO_BARE_MAX = 1.2;
const PACED_TO_BARE_MAX = 1.3;
const TRANSLATED_TO_BARE_MAX = 2.5;
const MANY_STREAMS_LEAST = 2_000;
const MANY_STREAMS_BYTES_MAX = 200_000_000;
const SHARED_MICROS_MAX = 50;
const REDIS_MICROS_MAX = 20;
const FIRST_BYTE_MICROS_MAX = 1_000;
const START_MS_MAX = 2_000;
const IDLE_BYTES_MAX = 150_000_000;
const CANCEL_MS_MAX = 100;

export type Load = "json" | "burst" | "paced" | "translated";

export function cpuOf(result: CandidateResult | undefined, load: Load): readonly (number | undefined)[] {
  return result === undefined ? [] : result[load].map((run: LoadRun) => run.cpuMicros);
}

export function candidate(result: BenchResult, name: CandidateResult["name"]): CandidateResult | undefined {
  return result.candidates.find((found) => found.name === name);
}

/** The peers do not translate: a translated stream is compared with their passthrough stream of as many frames. */
export function cpuRatio(result: BenchResult, load: Load, under: CandidateResult["name"]): Figure | undefined {
  const other = candidate(result, under);
  const otherLoad = load === "translated" && other?.translated.length === 0 ? "burst" : load;
  return ratio(cpuOf(candidate(result, "gateway"), load), cpuOf(other, otherLoad));
}

export function targetsOf(result: BenchResult): readonly Target[] {
  const gateway = candidate(result, "gateway");
  const slowestStartMs = gateway === undefined ? undefined : worst(gateway.startsMs);
  const cancelMs =
    gateway === undefined ? undefined : worst(gateway.cancelMs.map((ms) => ms ?? Number.POSITIVE_INFINITY));
  return [
    ratioTarget("JSON: CPU per request, gateway to bare proxy", cpuRatio(result, "json", "bare"), JSON_TO_BARE_MAX),
    ratioTarget("JSON: CPU per request, gateway to Portkey", cpuRatio(result, "json", "portkey"), JSON_TO_PORTKEY_MAX),
    ratioTarget(
      "Stream of 50 without pauses: CPU, gateway to bare proxy",
      cpuRatio(result, "burst", "bare"),
      BURST_TO_BARE_MAX,
    ),
    ratioTarget(
      "Stream of 50, 5 ms apart: CPU, gateway to bare proxy",
      cpuRatio(result, "paced", "bare"),
      PACED_TO_BARE_MAX,
    ),
    ratioTarget(
      "Stream of 50 events, chat to messages: CPU, gateway to bare proxy's plain stream",
      cpuRatio(result, "translated", "bare"),
      TRANSLATED_TO_BARE_MAX,
    ),
    firstByteTarget(result),
    limitTarget(
      "JSON: CPU per request, on PostgreSQL and Redis over the embedded store",
      added(cpuOf(candidate(result, "shared"), "json"), cpuOf(gateway, "json"))?.median,
      SHARED_MICROS_MAX,
      (micros) => `${Math.round(micros)} µs`,
    ),
    manyStreamsTarget(gateway),
    limitTarget(
      "Start to first served request (slowest start)",
      slowestStartMs,
      START_MS_MAX,
      (ms) => `${(ms / 1000).toFixed(2)} s`,
    ),
    redisTarget(result),
    limitTarget(
      "Idle memory (resident)",
      gateway?.idleBytes,
      IDLE_BYTES_MAX,
      (bytes) => `${Math.round(bytes / 1e6)} MB`,
    ),
    limitTarget(
      "Client disconnects: upstream cancelled (slowest)",
      cancelMs,
      CANCEL_MS_MAX,
      (ms) => `${ms.toFixed(1)} ms`,
    ),
  ];
}

function firstByteTarget(result: BenchResult): Target {
  const p50s = (name: CandidateResult["name"]) => (candidate(result, name)?.firstByte ?? []).map(({ p50 }) => p50);
  return limitTarget(
    "First byte of a stream at p50: gateway over bare proxy",
    added(p50s("gateway"), p50s("bare"))?.median,
    FIRST_BYTE_MICROS_MAX,
    (micros) => `${(micros / 1000).toFixed(2)} ms`,
  );
}

/** Redis runs on one core, so its CPU per request is what limits a fleet that shares one. */
function redisTarget(result: BenchResult): Target {
  const print = (value: number) => `${value.toFixed(1)} µs, ${fleetCeiling(value)} requests/s of a fleet`;
  const target = limitTarget("JSON: Redis CPU per request", redisMicros(result, "json"), REDIS_MICROS_MAX, print);
  return { ...target, limit: `under ${REDIS_MICROS_MAX} µs` };
}

export function redisMicros(result: BenchResult, load: Load): number | undefined {
  return median((candidate(result, "shared")?.[load] ?? []).flatMap(({ redisMicros: micros }) => micros ?? []));
}

/** The requests a second of all instances on one Redis, whose commands run on one core. */
export function fleetCeiling(micros: number): string {
  return Math.floor(1e6 / micros).toLocaleString("en-US");
}

/** Memory is valid only when all requested streams were open. */
function manyStreamsTarget(gateway: CandidateResult | undefined): Target {
  const found = gateway?.manyStreams.find(({ streams }) => streams >= MANY_STREAMS_LEAST) ?? gateway?.manyStreams[0];
  const print = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
  const wanted = MANY_STREAMS_LEAST.toLocaleString("en-US");
  return {
    what: `Memory with ${wanted} streams open in one process`,
    limit: `under ${print(MANY_STREAMS_BYTES_MAX)}`,
    found: found === undefined ? undefined : `${print(found.rssBytes)} at ${found.streams.toLocaleString("en-US")}`,
    met:
      found === undefined ? undefined : found.streams >= MANY_STREAMS_LEAST && found.rssBytes < MANY_STREAMS_BYTES_MAX,
  };
}

/** Uses the median, because single repetitions vary on a shared machine. */
function ratioTarget(what: string, found: Figure | undefined, most: number): Target {
  return {
    what,
    limit: `at most ${most.toFixed(2)} ×`,
    found:
      found === undefined
        ? undefined
        : `${found.median.toFixed(2)} × (${found.least.toFixed(2)} to ${found.most.toFixed(2)})`,
    met: found === undefined ? undefined : found.median <= most,
  };
}

function limitTarget(what: string, found: number | undefined, below: number, print: (value: number) => string): Target {
  return {
    what,
    limit: `under ${print(below)}`,
    found: found === undefined ? undefined : print(found),
    met: found === undefined ? undefined : found < below,
  };
}

function worst(samples: readonly number[]): number | undefined {
  return samples.length === 0 ? undefined : Math.max(...samples);
}
