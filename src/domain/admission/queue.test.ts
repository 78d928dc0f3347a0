import fc from "fast-check";
import { expect, test } from "vitest";
import { EndpointPlaces } from "./endpoint-places.ts";
import { AdmissionQueue, type QueueRules } from "./queue.ts";
import { RetryBudget } from "./retry-budget.ts";

function open(rules: Partial<QueueRules> = {}) {
  const timers = new Set<() => void>();
  const queue = new AdmissionQueue({ places: 1, waitingMax: 10, waitMs: 100, ...rules }, (_ms, then) => {
    timers.add(then);
    return () => timers.delete(then);
  });
  const order: string[] = [];
  const wait = (workspace: string) => {
    const waiting = queue.wait(workspace);
    void waiting.place.then((end) => order.push(end === "served" ? workspace : `${workspace}:${end}`));
    return waiting;
  };
  return { queue, wait, order, timers };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

test("RATE-06 places go round by workspace: a crowd waits behind its own", async () => {
  const { queue, wait, order } = open();
  expect(queue.enter()).toBe("served");
  expect(queue.enter()).toBe("wait");
  for (let at = 0; at < 4; at += 1) wait("crowd");
  wait("quiet");
  wait("third");
  for (let at = 0; at < 6; at += 1) {
    queue.leave();
    await soon();
  }
  expect(order).toEqual(["crowd", "quiet", "third", "crowd", "crowd", "crowd"]);
  queue.leave();
  expect([queue.taken, queue.waiting]).toEqual([0, 0]);
});

test("RATE-06 nobody who comes later passes those who wait", () => {
  const { queue, wait } = open({ places: 2 });
  queue.enter();
  queue.enter();
  wait("a");
  wait("a");
  queue.leave();
  expect(queue.enter()).toBe("wait");
});

test("RATE-06 the wait and the queue have an end: too long, and full at once", async () => {
  const { queue, wait, order, timers } = open({ waitingMax: 1 });
  queue.enter();
  wait("a");
  wait("b");
  await soon();
  expect(order).toEqual(["b:full"]);
  for (const ring of timers) ring();
  await soon();
  expect(order).toEqual(["b:full", "a:too_long"]);
  expect(queue.waiting).toBe(0);
  queue.leave();
  expect(queue.taken).toBe(0);
});

test("RATE-06 a crowd that fills the queue keeps nobody else out: who came last of the longest line makes room", async () => {
  const { queue, wait, order, timers } = open({ waitingMax: 4 });
  queue.enter();
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
  expect([queue.waiting, timers.size]).toEqual([4, 4]);
  for (let at = 0; at < 4; at += 1) {
    queue.leave();
    await soon();
  }
  expect(order.slice(4)).toEqual(["crowd", "quiet", "crowd", "quiet"]);
});

test("RATE-06 who leaves the queue frees the place, and its timer", async () => {
  const { queue, wait, order, timers } = open();
  queue.enter();
  const gone = wait("a");
  wait("b");
  gone.leave();
  gone.leave();
  expect(timers.size).toBe(1);
  queue.leave();
  await soon();
  expect(order).toEqual(["a:left", "b"]);
});

test("RATE-06 no limit: everyone is served and nobody waits", () => {
  const { queue } = open({ places: 0 });
  for (let at = 0; at < 100; at += 1) expect(queue.enter()).toBe("served");
});

test("RATE-06 whatever happens, never more than the places, and nobody is forgotten", async () => {
  const step = fc.oneof(
    fc.record({ does: fc.constant("come" as const), who: fc.constantFrom("a", "b", "c") }),
    fc.record({ does: fc.constantFrom("finish" as const, "give_up" as const, "ring" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), async (steps, places) => {
      const { queue, timers } = open({ places, waitingMax: 5 });
      let inside = 0;
      let waiting: ReturnType<typeof queue.wait>[] = [];
      const follow = (one: ReturnType<typeof queue.wait>) =>
        void one.place.then((end) => {
          waiting = waiting.filter((other) => other !== one);
          if (end === "served") inside += 1;
        });
      for (const one of steps) {
        if (one.does === "come") {
          if (queue.enter() === "served") inside += 1;
          else {
            const mine = queue.wait(one.who);
            waiting.push(mine);
            follow(mine);
          }
        } else if (one.does === "finish" && inside > 0) {
          inside -= 1;
          queue.leave();
        } else if (one.does === "give_up") waiting[0]?.leave();
        else if (one.does === "ring") [...timers][0]?.();
        await soon();
        expect(inside).toBeLessThanOrEqual(places);
        expect(queue.taken).toBe(inside);
        expect(queue.waiting).toBe(waiting.length);
        if (waiting.length > 0) expect(inside).toBe(places);
      }
    }),
    { numRuns: 200 },
  );
});

test("ROUTE-04 further attempts are a fifth of the active requests, and three in any case", () => {
  const budget = new RetryBudget();
  for (let at = 0; at < 100; at += 1) {
    budget.enter();
    budget.leave();
  }
  budget.enter();
  expect([budget.take(), budget.take(), budget.take(), budget.take()]).toEqual(["taken", "taken", "taken", "spent"]);
  for (let at = 0; at < 99; at += 1) budget.enter();
  for (let at = 0; at < 17; at += 1) expect(budget.take()).toBe("taken");
  expect(budget.take()).toBe("spent");
  budget.give();
  expect(budget.take()).toBe("taken");
  for (let at = 0; at < 100; at += 1) budget.leave();
  expect(budget.take()).toBe("spent");
});

test("ROUTE-04 attempts that fail at once are a fifth of the requests too, however few run together", () => {
  const budget = new RetryBudget();
  for (let at = 0; at < 20; at += 1) budget.enter();
  // The three that anyone may have: what is tried beyond them has to be earned.
  for (let at = 0; at < 3; at += 1) budget.take();
  const storm = (requests: number): number => {
    let retries = 0;
    for (let at = 0; at < requests; at += 1) {
      budget.enter();
      if (budget.take() === "taken") {
        retries += 1;
        budget.give();
      }
      budget.leave();
    }
    return retries;
  };
  storm(1000);
  expect(storm(1000)).toBeGreaterThan(190);
  expect(storm(1000)).toBeLessThanOrEqual(201);
});

test("an endpoint has a bounded number of requests, and 0 bounds nothing", () => {
  const places = new EndpointPlaces(2);
  expect([places.take("a"), places.take("a"), places.take("a"), places.take("b")]).toEqual([
    "taken",
    "taken",
    "full",
    "taken",
  ]);
  places.give("a");
  expect(places.take("a")).toBe("taken");
  const open = new EndpointPlaces(0);
  for (let at = 0; at < 10; at += 1) expect([open.take("a"), open.takeFurther("a")]).toEqual(["taken", "taken"]);
  open.give("a");
});

test.each([
  [1, 0],
  [3, 0],
  [4, 1],
  [9, 3],
])("RATE-06 of %i places of an endpoint a request in parts has %i beside its first", (most, further) => {
  const places = new EndpointPlaces(most);
  places.take("a");
  for (let at = 0; at < further; at += 1) expect(places.takeFurther("a")).toBe("taken");
  expect(places.takeFurther("a")).toBe("full");
  expect(places.at("a")).toBe(1 + further);
  if (most > 1) expect(places.take("a")).toBe("taken");
});
