import { setTimeout as sleep } from "node:timers/promises";
import { Chance } from "../../simulation/chance.ts";
import { startFleet, type TestFleet } from "./fleet.ts";
import { judge, LIMIT, neverHappened, type Report, type World } from "./judge.ts";
import { ask, type Caller, type CallOutcome, call } from "./load.ts";

export type ChaosOptions = {
  readonly seed: number;
  readonly instances: number;
  /** How long faults are injected; what follows takes a while longer. */
  readonly forMs: number;
  /** Pause between two faults: from, to. */
  readonly betweenMs: readonly [number, number];
  /** Pause of a caller between two requests. */
  readonly pauseMs: number;
  /** Called for every fault. */
  readonly log?: (line: string) => void;
};

const POOR_CREDIT = "0.0005";
const RICH_CREDIT = "1000";
const SAMPLE_EVERY_MS = 500;
/** Until the balancer has seen that an instance is back. */
const BALANCER_MS = 1500;
/** A slow machine makes fewer requests in the same time: waits this long for what has to happen. */
const HAPPENS_MS_MAX = 60_000;

type Fault = { readonly name: string; happens(fleet: TestFleet, chance: Chance): Promise<void> };

/** What can happen to a fleet. Each fault ends by itself: the next begins when it is over. */
const FAULTS: readonly Fault[] = [
  {
    name: "kill -9 of an instance",
    happens: (fleet, chance) => chance.pick(fleet.instances).killed(chance.between(0, 1500)),
  },
  {
    name: "pause of an instance",
    happens: (fleet, chance) => chance.pick(fleet.instances).paused(chance.between(500, 3000)),
  },
  {
    name: "restart of PostgreSQL",
    async happens({ cluster }, chance) {
      await cluster.stop(chance.pick(["fast", "immediate"]));
      await sleep(chance.between(0, 1500));
      await cluster.start();
    },
  },
  {
    name: "loss of Redis and all it has",
    async happens({ redis }, chance) {
      await redis.kill();
      await sleep(chance.between(0, 1000));
      await redis.start();
    },
  },
  {
    name: "pause of Redis",
    async happens({ redis }, chance) {
      redis.pause();
      await sleep(chance.between(300, 2000));
      redis.resume();
    },
  },
];

/** Steady mixed load on a fleet with faults, and the report. */
export async function runChaos(options: ChaosOptions): Promise<Report> {
  const chance = new Chance(options.seed);
  const fleet = await startFleet({ instances: options.instances });
  try {
    const world = await settle(fleet, options.pauseMs);
    const seen: CallOutcome[] = [];
    const stop = new AbortController();
    const callers = world.callers.map((caller, at) =>
      call(fleet.balancer.url, caller, new Chance(options.seed * 1000 + at), seen, stop.signal),
    );
    const peak = watchMemory(fleet, stop.signal);
    const startedMs = performance.now();
    const faults = await Promise.all([
      faultsUntil(fleet, chance, options, startedMs),
      revoke(fleet, world, options.forMs, seen),
    ]);
    await until(() => neverHappened(seen).length === 0);
    await fleet.calm("ready");
    const rollingMs = performance.now();
    const ends = await roll(fleet, options);
    stop.abort();
    await Promise.all(callers);
    await fleet.calm("moved");
    // Every instance alone: none kept a diverging state.
    const after: CallOutcome[] = [];
    for (const { url } of fleet.instances)
      after.push(await ask(url, { who: "rich", key: world.keys["rich"] ?? "" }, "json"));
    await fleet.calm("moved");
    return await judge({
      ...world,
      fleet,
      seen,
      after,
      faults: faults[0],
      rolling: { fromMs: rollingMs, ends },
      seed: options.seed,
      tookMs: performance.now() - startedMs,
      peakBytes: await peak,
    });
  } finally {
    await fleet.close();
  }
}

/** Callers: some with money, one that runs out of it, one beyond its rate limit, one whose key is revoked. */
async function settle(fleet: TestFleet, pauseMs: number): Promise<World> {
  const keys: Record<string, string> = {};
  const ids: Record<string, string> = {};
  for (const [who, credit, rpm] of [
    ["rich", RICH_CREDIT, 1_000_000],
    ["poor", POOR_CREDIT, 1_000_000],
    ["often", RICH_CREDIT, LIMIT],
    ["gone", RICH_CREDIT, 1_000_000],
  ] as const) {
    await fleet.manage("POST", "/workspaces", { slug: who, currency: "EUR" });
    await fleet.manage("POST", `/workspaces/${who}/wallet/credits`, { amount: credit });
    const made = await fleet.manage("POST", `/workspaces/${who}/keys`, { name: who, environment: "live", rpm });
    keys[who] = made.key;
    ids[who] = made.id;
  }
  const callerOf = (who: string, ms = pauseMs): Caller => ({ who, key: keys[who] ?? "", pauseMs: ms });
  const callers = [
    ...Array.from({ length: 6 }, () => callerOf("rich")),
    ...Array.from({ length: 3 }, () => callerOf("poor")),
    ...Array.from({ length: 2 }, () => callerOf("often", 150)),
    callerOf("gone"),
  ];
  return {
    keys,
    ids,
    callers,
    credits: { rich: RICH_CREDIT, poor: POOR_CREDIT, often: RICH_CREDIT, gone: RICH_CREDIT },
    revokedMs: Number.NaN,
    revokingMs: Number.NaN,
  };
}

async function faultsUntil(
  fleet: TestFleet,
  chance: Chance,
  { forMs, betweenMs, log = () => {} }: ChaosOptions,
  startedMs: number,
): Promise<Report["faults"]> {
  const happened: { name: string; atMs: number; tookMs: number }[] = [];
  // Each fault once before any repeats, so that a short run has all of them.
  let waiting: Fault[] = [];
  while (performance.now() - startedMs < forMs || happened.length < FAULTS.length) {
    if (waiting.length === 0) waiting = shuffled(FAULTS, chance);
    const fault = waiting.pop();
    if (fault === undefined) break;
    await sleep(chance.between(...betweenMs));
    const atMs = performance.now();
    log(`${((atMs - startedMs) / 1000).toFixed(1)} s: ${fault.name}`);
    await fault.happens(fleet, chance);
    happened.push({
      name: fault.name,
      atMs: Math.round(atMs - startedMs),
      tookMs: Math.round(performance.now() - atMs),
    });
  }
  await sleep(betweenMs[1]);
  return happened;
}

/** A rolling update: instances are stopped and started one after the other, the next only when the previous serves. */
async function roll(fleet: TestFleet, { log = () => {} }: ChaosOptions): Promise<readonly (number | string)[]> {
  const ends: (number | string)[] = [];
  for (const instance of fleet.instances) {
    log(`restart of ${instance.name}`);
    ends.push(await instance.restarted());
    await fleet.calm("ready");
    await sleep(BALANCER_MS);
  }
  return ends;
}

function shuffled<T>(from: readonly T[], chance: Chance): T[] {
  const left = [...from];
  const drawn: T[] = [];
  while (left.length > 0) drawn.push(...left.splice(chance.between(0, left.length - 1), 1));
  return drawn;
}

async function until(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + HAPPENS_MS_MAX;
  while (!isSo() && performance.now() < deadline) await sleep(50);
}

/** Half-way, whatever happens then, but not before the key was used. */
async function revoke(fleet: TestFleet, world: World, forMs: number, seen: readonly CallOutcome[]): Promise<void> {
  await sleep(forMs / 2);
  await until(() => seen.some(({ who, outcome }) => who === "gone" && outcome === "whole"));
  world.revokingMs = performance.now();
  await fleet.manage("POST", `/keys/${world.ids["gone"]}/revoke`);
  world.revokedMs = performance.now();
}

async function watchMemory(fleet: TestFleet, signal: AbortSignal): Promise<number> {
  let peak = 0;
  while (!signal.aborted) {
    for (const instance of fleet.instances) peak = Math.max(peak, instance.residentBytes() ?? 0);
    await sleep(SAMPLE_EVERY_MS);
  }
  return peak;
}
