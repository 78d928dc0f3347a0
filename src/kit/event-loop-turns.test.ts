import { expect, test } from "vitest";
import { EventLoopTurns } from "./event-loop-turns.ts";

test("SAFE-01 owners take turns: one with many computations delays no other", async () => {
  const turns = new EventLoopTurns({ chars: 100, values: 100 });
  const order: string[] = [];
  const compute = async (owner: string) => {
    const work = turns.begin(owner);
    for (let step = 0; step < 3; step += 1) {
      if (!work.fits(100, 1)) await work.next();
      work.add(100, 1);
      order.push(owner);
    }
    work.end();
  };
  await Promise.all([...Array.from({ length: 10 }, () => compute("busy")), compute("quiet")]);
  expect(order).toHaveLength(33);
  // Every other turn is that of the quiet owner until it is done.
  expect(order.slice(0, 6)).toEqual(["busy", "quiet", "busy", "quiet", "busy", "quiet"]);
});
