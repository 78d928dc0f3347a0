import fc from "fast-check";
import { expect, test } from "vitest";
import { AdmissionQueue, type AdmissionQueueLimits } from "./admission-queue.ts";
import { ConcurrencyLimiter } from "./concurrency-limiter.ts";
import { RetryBudget } from "./retry-budget.ts";

function open(rules: Partial<AdmissionQueueLimits> = {}) {
  const timers = new Set<() => void>();
  const queue = new AdmissionQueue({ slots: 1, queuedMax: 10, waitMs: 100, ...rules }, (_ms, then) => {
    timers.add(then);
    return () => timers.delete(then);
  });
  const order: string[] = [];
  const wait = (workspace: string) => {
    const waiting = queue.enqueue(workspace);
    void waiting.admission.then((end) => order.push(end === "served" ? workspace : `${workspace}:${end}`));
    return waiting;
  };
  return { queue, wait, order, timers };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

test("RATE-06 places go round by workspace: a crowd waits behind its own", async () => {
  const { queue, wait, order } = open();
  expect(queue.tryEnter()).toBe("served");
  expect(queue.tryEnter()).toBe("wait");
  for (let at = 0; at < 4; at += 1) wait("crowd");
  wait("quiet");
  wait("third");
  for (let at = 0; at < 6; at += 1) {
    queue.leave();
    await soon();
  }
  expect(order).toEqual(["crowd", "quiet", "third", "crowd", "crowd", "crowd"]);
  queue.leave();
  expect([queue.inUse, queue.queued]).toEqual([0, 0]);
});

test("RATE-06 nobody who comes later passes those who wait", () => {
  const { queue, wait } = open({ slots: 2 });
  queue.tryEnter();
  queue.tryEnter();
  wait("a");
  wait("a");
  queue.leave();
  expect(queue.tryEnter()).toBe("wait");
});

test("RATE-06 the wait and the queue have an end: too long, and full at once", async () => {
  const { queue, wait, order, timers } = open({ queuedMax: 1 });
  queue.tryEnter();
  wait("a");
  wait("b");
  await soon();
  expect(order).toEqual(["b:full"]);
  for (const ring of timers) ring();
  await soon();
  expect(order).toEqual(["b:full", "a:too_long"]);
  expect(queue.queued).toBe(0);
  queue.leave();
  expect(queue.inUse).toBe(0);
});

test("RATE-06 a crowd that fills the queue keeps nobody else out: who came last of the longest line makes room", async () => {
  const { queue, wait, order, timers } = open({ queuedMax: 4 });
  queue.tryEnter();
  for (let at = 0; at < 4; at += 1) wait("crowd");
  wait("quiet");
  wait("quiet");
  await soon();
  expect(order).toEqual(["crowd:full", "crowd:full"]);
  // Lines as long as each other: nobody is sent away for a newcomer, and the crowd not for its own.
  wait("quiet");
  wait("crowd");
  await soon();
  expect(order.slice(2)).toEqual(["quiet:full", "crowd:full"]);
  expect([queue.queued, timers.size]).toEqual([4, 4]);
  for (let at = 0; at < 4; at += 1) {
    queue.leave();
    await soon();
  }
  expect(order.slice(4)).toEqual(["crowd", "quiet", "crowd", "quiet"]);
});

test("RATE-06 who leaves the queue frees the place, and its timer", async () => {
  const { queue, wait, order, timers } = open();
  queue.tryEnter();
  const gone = wait("a");
  wait("b");
  gone.cancel();
  gone.cancel();
  expect(timers.size).toBe(1);
  queue.leave();
  await soon();
  expect(order).toEqual(["a:left", "b"]);
});

test("RATE-06 no limit: everyone is served and nobody waits", () => {
  const { queue } = open({ slots: 0 });
  for (let at = 0; at < 100; at += 1) expect(queue.tryEnter()).toBe("served");
});

test("RATE-06 whatever happens, never more than the places, and nobody is forgotten", async () => {
  const step = fc.oneof(
    fc.record({ does: fc.constant("come" as const), who: fc.constantFrom("a", "b", "c") }),
    fc.record({ does: fc.constantFrom("finish" as const, "give_up" as const, "ring" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), async (steps, slots) => {
      const { queue, timers } = open({ slots, queuedMax: 5 });
      let inside = 0;
      let waiting: ReturnType<typeof queue.enqueue>[] = [];
      const follow = (one: ReturnType<typeof queue.enqueue>) =>
        void one.admission.then((end) => {
          waiting = waiting.filter((other) => other !== one);
          if (end === "served") inside += 1;
        });
      for (const one of steps) {
        if (one.does === "come") {
          if (queue.tryEnter() === "served") inside += 1;
          else {
            const mine = queue.enqueue(one.who);
            waiting.push(mine);
            follow(mine);
          }
        } else if (one.does === "finish" && inside > 0) {
          inside -= 1;
          queue.leave();
        } else if (one.does === "give_up") waiting[0]?.cancel();
        else if (one.does === "ring") [...timers][0]?.();
        await soon();
        expect(inside).toBeLessThanOrEqual(slots);
        expect(queue.inUse).toBe(inside);
        expect(queue.queued).toBe(waiting.length);
        if (waiting.length > 0) expect(inside).toBe(slots);
      }
    }),
    { numRuns: 200 },
  );
});

test("ROUTE-04 further attempts are a fifth of the active requests, and three in any case", () => {
  const budget = new RetryBudget();
  for (let at = 0; at < 100; at += 1) {
    budget.requestStarted();
    budget.requestFinished();
  }
  budget.requestStarted();
  expect([budget.acquire(), budget.acquire(), budget.acquire(), budget.acquire()]).toEqual([
    "taken",
    "taken",
    "taken",
    "spent",
  ]);
  for (let at = 0; at < 99; at += 1) budget.requestStarted();
  for (let at = 0; at < 17; at += 1) expect(budget.acquire()).toBe("taken");
  expect(budget.acquire()).toBe("spent");
  budget.release();
  expect(budget.acquire()).toBe("taken");
  for (let at = 0; at < 100; at += 1) budget.requestFinished();
  expect(budget.acquire()).toBe("spent");
});

test("ROUTE-04 attempts that fail at once are a fifth of the requests too, however few run together", () => {
  const budget = new RetryBudget();
  for (let at = 0; at < 20; at += 1) budget.requestStarted();
  // The three that anyone may have: what is tried beyond them has to be earned.
  for (let at = 0; at < 3; at += 1) budget.acquire();
  const storm = (requests: number): number => {
    let retries = 0;
    for (let at = 0; at < requests; at += 1) {
      budget.requestStarted();
      if (budget.acquire() === "taken") {
        retries += 1;
        budget.release();
      }
      budget.requestFinished();
    }
    return retries;
  };
  storm(1000);
  expect(storm(1000)).toBeGreaterThan(190);
  expect(storm(1000)).toBeLessThanOrEqual(201);
});

test("an endpoint has a bounded number of requests, and 0 bounds nothing", () => {
  const places = new ConcurrencyLimiter(2);
  expect([places.acquire("a"), places.acquire("a"), places.acquire("a"), places.acquire("b")]).toEqual([
    "taken",
    "taken",
    "full",
    "taken",
  ]);
  places.release("a");
  expect(places.acquire("a")).toBe("taken");
  const open = new ConcurrencyLimiter(0);
  for (let at = 0; at < 10; at += 1) expect([open.acquire("a"), open.acquireExtra("a")]).toEqual(["taken", "taken"]);
  open.release("a");
});

test.each([
  [1, 0],
  [3, 0],
  [4, 1],
  [9, 3],
])("RATE-06 of %i places of an endpoint a request in parts has %i beside its first", (most, further) => {
  const places = new ConcurrencyLimiter(most);
  places.acquire("a");
  for (let at = 0; at < further; at += 1) expect(places.acquireExtra("a")).toBe("taken");
  expect(places.acquireExtra("a")).toBe("full");
  expect(places.inUse("a")).toBe(1 + further);
  if (most > 1) expect(places.acquire("a")).toBe("taken");
});
