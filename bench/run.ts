/** The benchmark, started by scripts/bench.mjs, which installs its programs and pins this process to a core. */
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, CANDIDATES, type CandidateName, isPeer, type Prepared, type Shape } from "./candidate.ts";
import { prepareCandidate, startUntilServed } from "./candidates.ts";
import { Children, type Core, isRunning, readUnits, useOf } from "./children.ts";
import { measureDetectors } from "./detector-cost.ts";
import { growthSectionOf } from "./growth-section.ts";
import { hostileSectionOf, withHostileSection } from "./hostile-section.ts";
import { runLoad, type Target } from "./load.ts";
import { readMachine } from "./machine.ts";
import { measureCancel, measureLatency, measureLoad, measureOpenStreams, verify, verifyTranslated } from "./measure.ts";
import { type Options, readOptions, USAGE } from "./options.ts";
import { portalSectionOf, withPortalSection } from "./portal-section.ts";
import { foreignShares, readMoment } from "./proc.ts";
import { runProfile } from "./profile.ts";
import { renderPage, renderTables } from "./report.ts";
import { type BenchResult, type CandidateResult, emptyResult, type Skipped } from "./results.ts";
import type { Load } from "./targets.ts";
import { type Source, startUpstreams } from "./upstreams.ts";

type Runner = {
  readonly bench: Bench;
  readonly source: Source;
  readonly options: Options;
  readonly units: ReturnType<typeof readUnits>;
};

type Contestant = {
  readonly prepared: Prepared;
  readonly child: ChildProcess | undefined;
  readonly result: CandidateResult;
};

const JSON_SHAPE: Shape = { is: "json" };
const BURST: Shape = { is: "stream", paceMs: 0 };
const PACED: Shape = { is: "stream", paceMs: 5 };
const CONNECTIONS = 32;
/** Few connections: an overloaded candidate reads many frames at once, which would distort the cost per frame. */
const BURST_CONNECTIONS = 4;
const PACED_CONNECTIONS = 40;
/** Concurrent streams for measuring memory per stream. */
const MANY_STREAMS = [2_000, 5_000];
const LADDER = [1, 2, 4, 8, 16, 32, 64, 128];
/** Memory used during start-up is returned after a few seconds. */
const IDLE_WAIT_MS = 5_000;
/** A slow peer completes few calls in the seconds of a quick run. */
const PEER_SECONDS_LEAST = 8;
/** One start of a candidate that takes longer is enough. */
const SLOW_START_MS = 5_000;
/** Time limit of the whole run; every step has its own as well. */
const RUN_MS_MAX = 60 * 60_000;
const ROOT = path.resolve(import.meta.dirname, "..");

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options.help) return say(USAGE);
  const pinned = os.cpus().length > 1;
  const cores = new Map<Core, string>([
    ["candidate", "0"],
    ["load", "1"],
  ]);
  const children = new Children(pinned ? cores : undefined);
  stopOnSignals(children);
  const late = setTimeout(() => {
    say("The benchmark takes far too long; it is stopped.");
    process.exit(1);
  }, RUN_MS_MAX);
  try {
    await runWith(children, options, pinned);
  } finally {
    clearTimeout(late);
    await children.stopAll();
  }
}

async function runWith(children: Children, options: Options, pinned: boolean): Promise<void> {
  const startedAtMs = Date.now();
  const folder = path.join(ROOT, "bench/.work/run");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { ports, source } = await startUpstreams(children, { node: process.execPath, root: ROOT, folder });
  const earlierRoot = options.against && path.resolve(options.against);
  const bench: Bench = { children, node: process.execPath, root: ROOT, earlierRoot, folder, upstream: ports };
  if (options.profile) return runProfile(bench, options);

  const runner: Runner = { bench, source, options, units: readUnits() };
  const skipped: Skipped[] = [];
  const contestants = await startAll(runner, skipped);
  for (const contestant of contestants) await withoutFailed(contestant, () => warm(runner, contestant));
  const before = readMoment(performance.now());
  for (let repetition = 0; repetition < options.sizes.repetitions; repetition++) {
    await repeat(runner, rotated(contestants, repetition), repetition);
  }
  for (const contestant of contestants) await withoutFailed(contestant, () => climb(runner, contestant));
  const after = readMoment(performance.now());
  const detectors = measureDetectors();
  for (const contestant of contestants) await withoutFailed(contestant, () => finish(runner, contestant));
  const result: BenchResult = {
    mode: options.mode,
    startedAt: `${new Date(startedAtMs).toISOString().slice(0, 16).replace("T", " ")} UTC`,
    tookSeconds: (Date.now() - startedAtMs) / 1000,
    machine: readMachine(ROOT, pinned),
    repetitions: options.sizes.repetitions,
    ...foreignShares(before, after, os.cpus().length, runner.units),
    candidates: contestants.map((contestant) => contestant.result),
    skipped,
    detectors,
  };
  publish(result, options);
}

async function startAll(runner: Runner, skipped: Skipped[]): Promise<readonly Contestant[]> {
  const contestants: Contestant[] = [];
  for (const name of runner.options.only) {
    say(`starting ${name}`);
    try {
      contestants.push(await start(runner, name));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      say(`  ${name} is left out: ${why}`);
      skipped.push({ name, why: why.split("\n")[0] ?? "" });
    }
  }
  return contestants;
}

/** Starts a candidate, checks its responses and measures its idle memory. */
async function start(runner: Runner, name: CandidateName): Promise<Contestant> {
  const { bench, source, units } = runner;
  const { sizes } = runner.options;
  const prepared = await prepareCandidate(bench, name, runner.options.peers);
  const result = emptyResult(name, prepared.title, prepared.version);
  let child: ChildProcess | undefined;
  for (let round = 0; prepared.launch !== undefined && round < sizes.starts; round++) {
    if (child !== undefined) await bench.children.stop(child);
    const started = await startUntilServed(prepared, prepared.launch);
    child = started.child;
    result.startsMs.push(started.startMs);
    if (started.startMs > SLOW_START_MS) break;
  }
  for (const shape of [JSON_SHAPE, BURST, PACED]) await verify(prepared, shape);
  if (prepared.translated !== undefined) await verifyTranslated(prepared.translated);
  if (child !== undefined) {
    await sleep(IDLE_WAIT_MS);
    result.idleBytes = useOf(child, units).rssBytes;
    const plan = { streams: sizes.openStreams, seconds: sizes.openSeconds, folder: bench.folder };
    // A slow peer works on their backlog for minutes, so that its turn is the last.
    if (!isPeer(name)) result.openStreams = await measureOpenStreams(prepared.target, child, source, units, plan);
    if (name === "gateway") {
      for (const streams of MANY_STREAMS) {
        const many = { ...plan, streams, seconds: sizes.manySeconds };
        result.manyStreams.push(await measureOpenStreams(prepared.target, child, source, units, many));
      }
    }
  }
  return { prepared, child, result };
}

/** The JIT compiler needs some thousand calls to reach a steady state. */
async function warm({ bench, options }: Runner, { prepared, child }: Contestant): Promise<void> {
  if (child === undefined) return;
  for (const shape of [JSON_SHAPE, BURST]) {
    const load = { connections: CONNECTIONS, seconds: options.sizes.warmSeconds, folder: bench.folder };
    await runLoad(prepared.target(shape), load);
  }
  if (prepared.translated === undefined) return;
  const load = { connections: CONNECTIONS, seconds: options.sizes.warmSeconds, folder: bench.folder };
  await runLoad(prepared.translated, load);
}

/** One repetition: for every measurement, all candidates one after the other. */
async function repeat(runner: Runner, contestants: readonly Contestant[], repetition: number): Promise<void> {
  const { sizes } = runner.options;
  say(`repetition ${repetition + 1} of ${sizes.repetitions}`);
  const each = async (step: (one: Contestant) => Promise<void>) => {
    for (const one of contestants) await withoutFailed(one, () => step(one));
  };
  await each(async (one) => {
    const size = { connections: CONNECTIONS, seconds: sizes.jsonSeconds };
    one.result.json.push(await load(runner, one, "json", JSON_SHAPE, one.prepared.target(JSON_SHAPE), size));
  });
  await each(async (one) => {
    const size = { connections: BURST_CONNECTIONS, seconds: sizes.burstSeconds };
    one.result.burst.push(await load(runner, one, "burst", BURST, one.prepared.target(BURST), size));
    const { translated } = one.prepared;
    if (translated !== undefined)
      one.result.translated.push(await load(runner, one, "translated", BURST, translated, size));
  });
  await each(async (one) => {
    const size = { connections: PACED_CONNECTIONS, seconds: sizes.pacedSeconds };
    one.result.paced.push(await load(runner, one, "paced", PACED, one.prepared.target(PACED), size));
  });
  await each(async ({ prepared, result }) => {
    const seconds = sizes.latencySeconds;
    const json = { target: prepared.target(JSON_SHAPE), callers: 1, thinkMs: 4, seconds };
    result.latency.push(await measureLatency(json, "total"));
    const stream = { target: prepared.target(PACED), callers: 8, thinkMs: 10, seconds };
    result.firstByte.push(await measureLatency(stream, "first byte"));
  });
}

/** A peer that fails is left out from then on; a failure of anything else ends the run. */
async function withoutFailed({ result }: Contestant, step: () => Promise<void>): Promise<void> {
  if (result.invalid !== undefined) return;
  try {
    await step();
  } catch (error) {
    if (!isPeer(result.name)) throw error;
    result.invalid = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    say(`  ${result.name} fails: ${result.invalid}`);
  }
}

/** Raises the number of connections until responses take too long. */
async function climb({ bench, options }: Runner, { prepared, result }: Contestant): Promise<void> {
  for (const connections of LADDER) {
    const size = { connections, seconds: options.sizes.ladderSeconds, folder: bench.folder };
    const summary = await runLoad(prepared.target(JSON_SHAPE), size);
    const bad = summary.badStatus + summary.socketErrors + summary.timeouts;
    const perSecond = (summary.requests - summary.badStatus) / (summary.durationMicros / 1_000_000);
    result.ladder.push({ connections, perSecond, p99Micros: summary.p99Micros, bad });
  }
}

async function load(
  { bench, source, units }: Runner,
  { prepared, child, result }: Contestant,
  name: Load,
  shape: Shape,
  target: Target,
  size: { readonly connections: number; readonly seconds: number },
) {
  const seconds = isPeer(result.name) ? Math.max(PEER_SECONDS_LEAST, size.seconds) : size.seconds;
  const plan = {
    target,
    shape,
    connections: size.connections,
    seconds,
    folder: bench.folder,
    redisCpu: prepared.redisCpu,
  };
  const run = await measureLoad(plan, child, source, units);
  if (child !== undefined && !isRunning(child)) throw new Error(`${result.name} ended during the run`);
  const cpu = run.cpuMicros === undefined ? "" : `, ${run.cpuMicros.toFixed(1)} µs CPU each`;
  say(
    `  ${result.name.padEnd(12)} ${name.padEnd(10)} ${run.perSecond.toFixed(0)}/s${cpu}${run.bad > 0 ? `, ${run.bad} failed` : ""}`,
  );
  return run;
}

async function finish(
  { bench, source, options, units }: Runner,
  { prepared, child, result }: Contestant,
): Promise<void> {
  if (child === undefined) return;
  for (let round = 0; round < options.sizes.cancels; round++) {
    result.cancelMs.push(await measureCancel(prepared.target(PACED), source));
  }
  result.afterBytes = useOf(child, units).rssBytes;
  if (isPeer(result.name)) {
    const plan = { streams: options.sizes.openStreams, seconds: options.sizes.openSeconds, folder: bench.folder };
    result.openStreams = await measureOpenStreams(prepared.target, child, source, units, plan);
  }
  const problem = await prepared.check?.();
  if (problem !== undefined) result.invalid = problem;
}

function publish(result: BenchResult, options: Options): void {
  const work = path.join(ROOT, "bench/.work");
  writeFileSync(path.join(work, "results.json"), `${JSON.stringify(result, undefined, 2)}\n`);
  process.stdout.write(`\n${renderTables(result)}\n`);
  const isWhole =
    options.mode === "full" &&
    CANDIDATES.every((name) => result.candidates.some((candidate) => candidate.name === name));
  const page = isWhole ? path.join(ROOT, "docs/benchmarks.md") : path.join(work, "benchmarks.md");
  const previous = existsSync(page) ? readFileSync(page, "utf8") : "";
  const growth = growthSectionOf(previous);
  const rendered = growth === undefined ? renderPage(result) : `${renderPage(result).trimEnd()}\n\n${growth}\n`;
  const withPortal = withPortalSection(rendered, portalSectionOf(previous));
  writeFileSync(page, withHostileSection(withPortal, hostileSectionOf(previous)));
  say(
    `\nwritten: ${path.relative(ROOT, page)}${isWhole ? "" : " (docs/benchmarks.md is written by a full run of all candidates)"}`,
  );
}

function rotated<T>(list: readonly T[], by: number): readonly T[] {
  const at = list.length === 0 ? 0 : by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}

/** Stops all processes on a signal. The terminal and npm both forward it, so it may arrive twice. */
function stopOnSignals(children: Children): void {
  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    void children.stopAll().finally(() => process.exit(1));
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, stop);
  process.on("exit", () => children.killAll());
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    say(`The benchmark failed: ${error instanceof Error ? error.message : String(error)}`);
    if (error instanceof TypeError) say(USAGE);
    process.exit(1);
  },
);
