import fc from "fast-check";
import { expect, test } from "vitest";
import type { AdmissionQueueLimits } from "./fair-queue.ts";
import { AdmissionQueue, ConcurrencyLimiter, RetryBudget } from "./overload-protection.ts";

function open(limits: Partial<AdmissionQueueLimits> = {}) {
  const timers = new Set<() => void>();
  const queue = new AdmissionQueue({ slots: 1, queuedMax: 10, waitMs: 100, ...limits }, (_ms, then) => {
    timers.add(then);
    return () => timers.delete(then);
  });
  const order: string[] = [];
  const enqueue = (workspace: string) => {
    const queued = queue.enqueue(workspace);
    void queued.admission.then((end) => order.push(end === "served" ? workspace : `${workspace}:${end}`));
    return queued;
  };
  return { queue, enqueue, order, timers };
}

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

test("RATE-06 slots are assigned round-robin by workspace", async () => {
  const { queue, enqueue, order } = open();
  expect(queue.tryEnter()).toBe("served");
  expect(queue.tryEnter()).toBe("wait");
  for (let at = 0; at < 4; at += 1) enqueue("busy");
  enqueue("quiet");
  enqueue("third");
  for (let at = 0; at < 6; at += 1) {
    queue.leave();
    await nextTick();
  }
  expect(order).toEqual(["busy", "quiet", "third", "busy", "busy", "busy"]);
  queue.leave();
  expect([queue.inUse, queue.queued]).toEqual([0, 0]);
});

test("RATE-06 a new request does not overtake queued ones", () => {
  const { queue, enqueue } = open({ slots: 2 });
  queue.tryEnter();
  queue.tryEnter();
  enqueue("a");
  enqueue("a");
  queue.leave();
  expect(queue.tryEnter()).toBe("wait");
});

test("RATE-06 the wait times out, and a full queue rejects at once", async () => {
  const { queue, enqueue, order, timers } = open({ queuedMax: 1 });
  queue.tryEnter();
  enqueue("a");
  enqueue("b");
  await nextTick();
  expect(order).toEqual(["b:full"]);
  for (const fire of timers) fire();
  await nextTick();
  expect(order).toEqual(["b:full", "a:too_long"]);
  expect(queue.queued).toBe(0);
  queue.leave();
  expect(queue.inUse).toBe(0);
});

test("RATE-06 a workspace that fills the queue loses its newest request to another workspace", async () => {
  const { queue, enqueue, order, timers } = open({ queuedMax: 4 });
  queue.tryEnter();
  for (let at = 0; at < 4; at += 1) enqueue("busy");
  enqueue("quiet");
  enqueue("quiet");
  await nextTick();
  expect(order).toEqual(["busy:full", "busy:full"]);
  // Equally long queues: neither workspace evicts a request.
  enqueue("quiet");
  enqueue("busy");
  await nextTick();
  expect(order.slice(2)).toEqual(["quiet:full", "busy:full"]);
  expect([queue.queued, timers.size]).toEqual([4, 4]);
  for (let at = 0; at < 4; at += 1) {
    queue.leave();
    await nextTick();
  }
  expect(order.slice(4)).toEqual(["busy", "quiet", "busy", "quiet"]);
});

test("RATE-06 a cancelled request leaves the queue and stops its timer", async () => {
  const { queue, enqueue, order, timers } = open();
  queue.tryEnter();
  const cancelled = enqueue("a");
  enqueue("b");
  cancelled.cancel();
  cancelled.cancel();
  expect(timers.size).toBe(1);
  queue.leave();
  await nextTick();
  expect(order).toEqual(["a:left", "b"]);
});

test("RATE-06 without a limit every request is served at once", () => {
  const { queue } = open({ slots: 0 });
  for (let at = 0; at < 100; at += 1) expect(queue.tryEnter()).toBe("served");
});

test("RATE-06 in any order of events: never more than the slots in use, and no request is lost", async () => {
  const step = fc.oneof(
    fc.record({ does: fc.constant("arrive" as const), workspace: fc.constantFrom("a", "b", "c") }),
    fc.record({ does: fc.constantFrom("finish" as const, "cancel" as const, "time_out" as const) }),
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
        if (one.does === "arrive") {
          if (queue.tryEnter() === "served") inside += 1;
          else {
            const mine = queue.enqueue(one.workspace);
            waiting.push(mine);
            follow(mine);
          }
        } else if (one.does === "finish" && inside > 0) {
          inside -= 1;
          queue.leave();
        } else if (one.does === "cancel") waiting[0]?.cancel();
        else if (one.does === "time_out") [...timers][0]?.();
        await nextTick();
        expect(inside).toBeLessThanOrEqual(slots);
        expect(queue.inUse).toBe(inside);
        expect(queue.queued).toBe(waiting.length);
        if (waiting.length > 0) expect(inside).toBe(slots);
      }
    }),
    { numRuns: 200 },
  );
});

test("ROUTE-04 concurrent retries are at most a fifth of the active requests, and at least three", () => {
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

test("ROUTE-04 retries that fail fast are at most a fifth of the requests, however few run concurrently", () => {
  const budget = new RetryBudget();
  for (let at = 0; at < 20; at += 1) budget.requestStarted();
  // Uses up the minimum: further retries need credit.
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

test("ROUTE-04 concurrent requests per endpoint are bounded, and 0 means no limit", () => {
  const limiter = new ConcurrencyLimiter(2);
  expect([limiter.acquire("a"), limiter.acquire("a"), limiter.acquire("a"), limiter.acquire("b")]).toEqual([
    "taken",
    "taken",
    "full",
    "taken",
  ]);
  limiter.release("a");
  expect(limiter.acquire("a")).toBe("taken");
  const unlimited = new ConcurrencyLimiter(0);
  for (let at = 0; at < 10; at += 1)
    expect([unlimited.acquire("a"), unlimited.acquireExtra("a")]).toEqual(["taken", "taken"]);
  unlimited.release("a");
});

test.each([
  [1, 0],
  [3, 0],
  [4, 1],
  [9, 3],
])("RATE-06 of %i slots of an endpoint, a request in parts gets %i besides its first", (limit, further) => {
  const limiter = new ConcurrencyLimiter(limit);
  limiter.acquire("a");
  for (let at = 0; at < further; at += 1) expect(limiter.acquireExtra("a")).toBe("taken");
  expect(limiter.acquireExtra("a")).toBe("full");
  expect(limiter.inUse("a")).toBe(1 + further);
  if (limit > 1) expect(limiter.acquire("a")).toBe("taken");
});
