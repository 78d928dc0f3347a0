import { sqlStore } from "../../../src/io/store/sql/store.ts";
import { useTimersOf } from "../../support/virtual-timers.ts";
import type { Outcome } from "../simulation.ts";
import { ask } from "./client-request.ts";
import { Instance, LONG_DOWN_MS } from "./instance.ts";
import { changeLimit } from "./limits.ts";
import { book, postingOf } from "./operator.ts";
import { WalletModel } from "./wallet-model.ts";
import { World } from "./world.ts";

const EVENTS_MAX = 50_000;
/** Longer than a request lasts; an instance can be down for longer than this, but not for twice as long. */
const HOLD_MAX_MS = 20_000;
const SWEEP_EVERY_MS = 3000;
const LAST_ORDERS = 4;
const SETTLED_AFTER_MS = 3 * HOLD_MAX_MS;

/** Wallets, holds, journals and ledger of several instances, from one seed to its end. */
export async function simulate(seed: number, tracing: "traced" | "hashed" = "hashed"): Promise<Outcome> {
  const world = new World(seed, tracing);
  const { scheduler, violations, orders } = world;
  useTimersOf(scheduler);
  const isBroken = () => violations.length > 0;
  await begin(world);
  const untilMs = (ms: number) => () => isBroken() || scheduler.monotonicMs() >= ms;
  const calmAtMs = world.shape.overMs + 25_000;
  scheduler.after(calmAtMs, () => calmDown(world));
  const over = await scheduler.run(EVENTS_MAX, untilMs(calmAtMs + SETTLED_AFTER_MS));
  if (over === "too_many") world.broken("liveness", "it does not come to rest");
  if (!isBroken()) await world.examiner.atTheEnd();
  for (const { incarnation } of world.instances) incarnation?.end();
  world.sql.close();
  return {
    seed,
    hash: world.hash,
    violations,
    trace: world.trace,
    requests: orders.length,
    calls: orders.filter(({ seen }) => seen?.is === "answer").length,
    events: scheduler.count,
    tally: world.tally,
  };
}

async function begin(world: World): Promise<void> {
  const { scheduler, shape, chance, sql } = world;
  const { ledger, tenancy } = sqlStore(sql.engine(() => "answered"));
  for (const workspace of world.workspaces) {
    await tenancy.saveWorkspace(workspace);
    const posted = postingOf(world, workspace, BigInt(chance.between(0, shape.creditNanos)), 0);
    await ledger.post(posted.transaction);
    posted.acknowledged = true;
  }
  world.instances = Array.from({ length: shape.instances }, (_, n) => new Instance(world, `i${n + 1}`));
  for (const instance of world.instances) scheduler.after(0, () => instance.start());
  const often = (times: number, what: () => void) => {
    for (let n = 0; n < times; n += 1) scheduler.after(50 + chance.between(0, shape.overMs), what);
  };
  often(shape.orders, () => ask(world));
  often(shape.credits, () => book(world));
  often(shape.limitChanges, () => changeLimit(world));
  often(shape.powerCuts, () => cutPower(world));
  often(shape.crashes, () => {
    const instance = chance.pick(world.instances);
    // In the middle of a write, or between two steps.
    if (chance.is(shape.longDown ? 0.9 : 0.5)) instance.disk.diesAfterBytes = chance.between(0, 3000);
    else instance.kill(shape.longDown ? LONG_DOWN_MS : undefined);
  });
  often(shape.fullDisks, () => {
    const { disk } = chance.pick(world.instances);
    disk.space = chance.between(0, 2000);
    world.count("full disk");
    scheduler.after(chance.between(100, 5000), () => {
      disk.space = undefined;
    });
  });
  for (let atMs = SWEEP_EVERY_MS; atMs < shape.overMs + 25_000 + SETTLED_AFTER_MS; atMs += SWEEP_EVERY_MS)
    scheduler.after(atMs, () => world.wallets.sweep(HOLD_MAX_MS));
}

/** All instances crash at once, and the shared state with them. */
function cutPower(world: World): void {
  world.note("the power goes");
  world.count("power cut");
  for (const instance of world.instances) instance.kill();
  world.wallets = new WalletModel(world);
}

function calmDown(world: World): void {
  const { shape, scheduler } = world;
  world.note("calm");
  shape.calmDown();
  for (const { disk } of world.instances) {
    disk.space = undefined;
    disk.diesAfterBytes = undefined;
  }
  for (let n = 1; n <= LAST_ORDERS; n += 1) scheduler.after(n * 5000, () => ask(world));
}
