import { afterAll, expect, test } from "vitest";
import { cleanUp } from "../edge/child.ts";
import { hasHaproxy } from "../support/haproxy.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { runChaos } from "./chaos/chaos.ts";

afterAll(cleanUp);

/** The same run each time as far as timing allows; `npm run soak -- --of fleet` draws others, for longer. */
const SEED = Number(process.env["CHAOS_SEED"] ?? 1);

test.skipIf(!hasPostgres || !hasRedis || !hasHaproxy)(
  "SCALE-03 three instances lose an instance, PostgreSQL and Redis under load: money and limits stay exact",
  { timeout: 300_000 },
  async () => {
    const report = await runChaos({ seed: SEED, instances: 3, forMs: 4000, betweenMs: [100, 600], pauseMs: 150 });
    expect(report.wrong, JSON.stringify(report, null, 2)).toEqual([]);
  },
);
