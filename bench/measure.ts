import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { Caller, callOnce } from "./call.ts";
import type { Prepared, Shape } from "./candidate.ts";
import { useOf } from "./children.ts";
import { runLoad, type Target } from "./load.ts";
import { percentile } from "./maths.ts";
import { STREAM_FRAMES, TRANSLATED_FRAMES } from "./payload.ts";
import type { ProcUnits, TreeUse } from "./proc.ts";
import type { LoadRun, OpenStreams, Spread } from "./results.ts";
import type { Source } from "./upstreams.ts";

const answerSchema = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string().min(1) }) })).min(1),
  usage: z.looseObject({ total_tokens: z.number() }),
});

/** Frames by which a candidate that formats streams itself may differ. */
const REFRAMED = 2;

/** Rejects a candidate with wrong responses before measuring it. */
export async function verify({ target: targetOf, reframes }: Prepared, shape: Shape): Promise<void> {
  const target = targetOf(shape);
  const answer = await callOnce(target);
  if (answer.status !== 200) throw new Error(`it answered ${answer.status}: ${answer.body.slice(0, 500)}`);
  if (shape.is === "json") {
    const value: unknown = JSON.parse(answer.body);
    answerSchema.parse(value);
    return;
  }
  verifyStream(answer.body, STREAM_FRAMES, reframes === true ? REFRAMED : 0);
}

/** The same for a translated stream. */
export async function verifyTranslated(target: Target): Promise<void> {
  const answer = await callOnce(target);
  if (answer.status !== 200) throw new Error(`it answered ${answer.status}: ${answer.body.slice(0, 500)}`);
  verifyStream(answer.body, TRANSLATED_FRAMES, 0);
}

function verifyStream(body: string, wanted: number, slack: number): void {
  const frames = body.split("\n\n").filter((frame) => frame.startsWith("data: {"));
  if (Math.abs(frames.length - wanted) > slack) throw new Error(`it sent ${frames.length} frames, not ${wanted}`);
  if (!frames.at(-1)?.includes('"total_tokens"')) throw new Error("its stream has no usage");
  if (!body.trimEnd().endsWith("data: [DONE]")) throw new Error("its stream has no end marker");
}

export type LoadPlan = {
  readonly target: Target;
  readonly shape: Shape;
  readonly connections: number;
  readonly seconds: number;
  readonly folder: string;
  readonly redisCpu?: (() => Promise<number>) | undefined;
};

/** One candidate under full load (or, for paced streams, under the same load as all others). */
export async function measureLoad(
  plan: LoadPlan,
  child: ChildProcess | undefined,
  source: Source,
  units: ProcUnits,
): Promise<LoadRun> {
  const framesBefore = (await source.counts()).framesSent;
  const before = child === undefined ? undefined : useOf(child, units);
  const redisBefore = await plan.redisCpu?.();
  const summary = await runLoad(plan.target, plan);
  const after = child === undefined ? undefined : await quiet(child, units);
  const redisAfter = await plan.redisCpu?.();
  const framesAfter = (await source.counts()).framesSent;
  const bad = summary.badStatus + summary.socketErrors + summary.timeouts;
  const completed = summary.requests - summary.badStatus;
  if (completed <= 0) throw new Error(`no request was answered (${bad} errors)`);
  // Streams still open at the end cost CPU too, so long streams are counted by frames.
  const paced = plan.shape.is === "stream" && plan.shape.paceMs > 0;
  const work = paced ? (framesAfter - framesBefore) / (STREAM_FRAMES + 1) : completed;
  return {
    perSecond: completed / (summary.durationMicros / 1_000_000),
    cpuMicros: before && after ? (after.cpuMicros - before.cpuMicros) / work : undefined,
    redisMicros: redisBefore !== undefined && redisAfter !== undefined ? (redisAfter - redisBefore) / work : undefined,
    bad,
  };
}

const QUIET_STEP_MS = 200;
const QUIET_MS_MAX = 15_000;
const QUIET_SHARE = 0.06;

/** Waits for deferred work (journal, log): its cost belongs to the requests that caused it. */
async function quiet(child: ChildProcess, units: ProcUnits): Promise<TreeUse> {
  let last = useOf(child, units);
  for (let waitedMs = 0; waitedMs < QUIET_MS_MAX; waitedMs += QUIET_STEP_MS) {
    await sleep(QUIET_STEP_MS);
    const now = useOf(child, units);
    if (now.cpuMicros - last.cpuMicros <= QUIET_SHARE * QUIET_STEP_MS * 1000) return now;
    last = now;
  }
  return last;
}

export type PatiencePlan = {
  readonly target: Target;
  readonly callers: number;
  readonly thinkMs: number;
  readonly seconds: number;
};

/** Few clients that pause between calls: latency on a machine that is not busy. */
export async function measureLatency(plan: PatiencePlan, part: "total" | "first byte"): Promise<Spread> {
  const untilMs = performance.now() + plan.seconds * 1000;
  const samples: number[] = [];
  const loop = async () => {
    const caller = new Caller(plan.target);
    try {
      await caller.call();
      while (performance.now() < untilMs) {
        await sleep(plan.thinkMs);
        const call = await caller.call();
        if (call.status !== 200) throw new Error(`it answered ${call.status} at a low rate`);
        samples.push(part === "total" ? call.totalMicros : call.firstByteMicros);
      }
    } finally {
      await caller.close();
    }
  };
  await Promise.all(Array.from({ length: plan.callers }, loop));
  return { p50: percentile(samples, 0.5), p99: percentile(samples, 0.99), samples: samples.length };
}

const CANCEL_MS_MAX = 1_000;

/** Time from the client's disconnect to the upstream's; undefined when it takes more than a second. */
export async function measureCancel(target: Target, source: Source): Promise<number | undefined> {
  source.takeCancelled();
  const caller = new Caller(target);
  try {
    const hungUpNs = await caller.hangUp();
    for (let waitedMs = 0; waitedMs < CANCEL_MS_MAX; waitedMs += 5) {
      const [seenNs] = source.takeCancelled();
      if (seenNs !== undefined) return Math.max(0, Number(seenNs - hungUpNs) / 1_000_000);
      await sleep(5);
    }
    return undefined;
  } finally {
    await caller.close();
  }
}

const OPEN_PACE_MS = 400;

/** Resident memory with many open streams; `streams` is the number that was actually open. */
export async function measureOpenStreams(
  target: (shape: Shape) => Target,
  child: ChildProcess,
  source: Source,
  units: ProcUnits,
  plan: { readonly streams: number; readonly seconds: number; readonly folder: string },
): Promise<OpenStreams> {
  const load = runLoad(target({ is: "stream", paceMs: OPEN_PACE_MS }), {
    connections: plan.streams,
    seconds: plan.seconds,
    folder: plan.folder,
  });
  let ended = false;
  const end = () => {
    ended = true;
  };
  load.then(end, end);
  let most = { rssBytes: 0, streams: 0 };
  while (!ended) {
    const [{ openStreams }, use] = [await source.counts(), useOf(child, units)];
    if (openStreams >= most.streams) most = { rssBytes: Math.max(most.rssBytes, use.rssBytes), streams: openStreams };
    await sleep(100);
  }
  await load;
  return most;
}
