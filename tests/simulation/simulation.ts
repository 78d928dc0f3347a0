import { administer, credit } from "./admin.ts";
import { ask } from "./callers.ts";
import { Process } from "./process.ts";
import { type Violation, World } from "./world.ts";

export type Outcome = {
  readonly seed: number;
  readonly hash: string;
  readonly violations: readonly Violation[];
  readonly trace: readonly string[] | undefined;
  readonly requests: number;
  readonly calls: number;
  readonly events: number;
  /** How requests ended, how many calls they made, and what happened to them. */
  readonly tally: Readonly<Record<string, number>>;
};

const EVENTS_MAX = 50_000;
const RESTART_MS = 300;
const LAST_VISITS = 5;
/** Far enough apart not to interfere. */
const LAST_EVERY_MS = 4000;
/** The number of retries that are always allowed. */
const RETRIES_LEAST = 3;
/** Longer than any request may take: whatever runs then hangs forever. */
const SETTLED_AFTER_MS = 120_000;

/** One world from its seed to its end, with every invariant checked. */
export async function simulate(seed: number, tracing: "traced" | "hashed" = "hashed"): Promise<Outcome> {
  const world = new World(seed, tracing);
  const { scheduler, violations } = world;
  const isBroken = () => violations.length > 0;
  begin(world);
  const busy = await scheduler.run(EVENTS_MAX, isBroken);
  if (busy === "too_many") world.broken("liveness", "it does not come to rest");
  if (!isBroken()) {
    calmDown(world);
    if ((await scheduler.run(EVENTS_MAX, isBroken)) === "too_many") world.broken("liveness", "it does not calm down");
  }
  if (!isBroken()) await atTheEnd(world);
  return {
    seed,
    hash: world.hash,
    violations,
    trace: world.trace,
    requests: world.visits.length,
    calls: world.visits.reduce((sum, { calls }) => sum + calls.length, 0),
    events: scheduler.count,
    tally: tallied(world),
  };
}

function tallied(world: World): Record<string, number> {
  for (const { state, refusal, sink, calls } of world.visits) {
    world.count(state === "crashed" ? "crashed" : (refusal ?? `${sink.state} ${sink.status}`));
    world.count(`${calls.length} calls`);
  }
  return world.tally;
}

function begin(world: World): void {
  const { scheduler, shape, chance, disk } = world;
  for (const id of world.stored.workspaces.keys()) disk.credit(id, shape.creditNanos);
  world.process = new Process(world);
  for (let n = 0; n < shape.requests; n += 1)
    scheduler.after(chance.between(0, shape.overMs), () => ask(world, "in_trouble"));
  for (let n = 0; n < shape.adminTimes; n += 1)
    scheduler.after(chance.between(0, shape.overMs), () => administer(world));
  for (const atMs of shape.crashAtMs) scheduler.after(atMs, () => crash(world));
  if (shape.diskFails !== undefined) {
    scheduler.after(shape.diskFails.fromMs, () => disk.fail());
    scheduler.after(shape.diskFails.toMs, () => disk.heal());
  }
}

function crash(world: World): void {
  if (world.process === undefined) return;
  world.note("crash");
  world.process.die();
  world.process = undefined;
  for (const visit of world.visits) {
    if (visit.state === "running") visit.state = "crashed";
    visit.sink.lost();
  }
  world.checks.activeChanged();
  world.scheduler.after(RESTART_MS, () => {
    world.process = new Process(world);
    world.note("start");
  });
}

/** Faults end, wallets are full, and a few last requests come one after the other. */
function calmDown(world: World): void {
  const { shape, scheduler, disk } = world;
  world.note("calm");
  shape.calmDown();
  disk.heal();
  for (const id of world.stored.workspaces.keys()) credit(world, id, 100_000_000_000n);
  for (let n = 1; n <= LAST_VISITS; n += 1) scheduler.after(n * LAST_EVERY_MS, () => ask(world, "in_calm"));
  scheduler.after(SETTLED_AFTER_MS, () => undefined);
}

/** Nothing is in flight, nothing is held, and every wallet is its credits less its charges. */
async function atTheEnd(world: World): Promise<void> {
  const { process, disk, visits } = world;
  for (const { state, mark } of visits) if (state === "running") world.broken("end", `${mark} never ended`);
  if (process === undefined) return world.broken("liveness", "the process is down");
  if (process.queue.inUse !== 0 || process.queue.queued !== 0)
    world.broken("queue", `${process.queue.inUse} slots are in use without a request, ${process.queue.queued} wait`);
  for (let n = 0; n < RETRIES_LEAST; n += 1)
    if (process.gateway.retryBudget.acquire() === "spent") world.broken("retry", "the budget is spent without a retry");
  if ((await process.state.sweepHolds(SETTLED_AFTER_MS / 2)) > 0) world.broken("money", "holds that were never ended");
  for (const id of world.stored.workspaces.keys()) {
    const { balanceNanos, heldNanos } = await process.state.wallet(id);
    if (heldNanos !== 0n) world.broken("money", `${heldNanos} of ${id} are still held`);
    const booked = disk.balanceOf(id);
    if (balanceNanos !== booked) world.broken("money", `${id} has ${balanceNanos}, its books say ${booked}`);
  }
}
