import { expect, onTestFinished, test } from "vitest";
import { hasRedis, openTestRedisState, startRedis } from "../../../tests/support/redis.ts";
import { createIdGenerator } from "../../kit/id-generator.ts";
import { systemTimers } from "../../kit/timers.ts";
import { createIngestBarrier } from "./ingest-barrier.ts";

test.skipIf(!hasRedis)(
  "SCALE-02 an instance that was disconnected when the flush was requested still flushes",
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const knownInstanceIds = async () => ["one", "two"];
    const flushed: string[] = [];
    const instance = async (id: string) => {
      const { coordination, close } = await openTestRedisState(redis.url);
      onTestFinished(async () => void (await close()));
      const deps = {
        fleet: { id, knownInstanceIds },
        store: coordination,
        ids: createIdGenerator(Date.now),
        timers: systemTimers,
      };
      return createIngestBarrier({ ...deps, flush: async () => void flushed.push(id) });
    };
    const [one] = [await instance("one"), await instance("two")];
    await one.all();
    flushed.length = 0;
    await redis.ask("CLIENT", "KILL", "TYPE", "pubsub");
    await one.all();
    expect(new Set(flushed)).toEqual(new Set(["one", "two"]));
  },
);
