import { createClient } from "@redis/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasRedis, type RedisServer, startRedis } from "../../support/redis.ts";
import { type Execute, RedisWorld } from "./redis-world.ts";

/** The same seeds at every run; SIMULATION_FROM and SIMULATION_SEEDS select others. */
const FROM = Number(process.env["SIMULATION_FROM"] ?? "1");
const SEEDS_LEAST = Number(process.env["SIMULATION_SEEDS"] ?? "40");
const FOR_MS = 3000;
const STEPS = 80;
const MUTANT_SEEDS = 60;
const TIMEOUT_MS = 60 * 60_000;

/** What has to occur somewhere, or the run has proved nothing. */
const MET = [
  "arrived late",
  "call",
  "crash",
  "held",
  "insufficient_credits",
  "large call",
  "late",
  "lost",
  "rejected",
  "reply lost",
  "settled again",
  "spend_limit_reached",
  "unavailable",
];

/** Faults of the script; each has to be detected. A text can occur for numbers, for pairs and in the path of one step. */
const MUTANTS = [
  ["a hold beyond the balance", "if free < nanos", "if false"],
  ["a large hold beyond the balance", "if is_pair_below(free, nanos)", "if false"],
  ["a hold beyond a limit", "if limit < needed then", "if false then"],
  ["a single hold beyond a limit", "if of == letter and tonumber(most)", "if false and tonumber(most)"],
  [
    "limits that do not see the holds of their call",
    "record[3], record[5], record[7] = (record[3] + nanos)",
    "record[3] = (0)",
  ],
  [
    "a charge that is taken twice",
    "if kind == 'p' or kind == 'q' then return reply('paid') end",
    "if kind == 'p' then known = 'h|1|1|2026-11|30||||' end",
  ],
  [
    "a late hold that stays",
    "if kind == 't' or kind == 'p' or kind == 'q' then return reply('late') end",
    "if kind == 't' then kind = nil end",
  ],
  ["a hold twice for one request", "if kind and kind ~= 's' then return reply('held') end", ""],
  ["rounded amounts", "if total > EXACT_MAX then", "if false then"],
  ["single steps with rounded amounts", "free > EXACT_MAX", "false"],
  ["a day that is lost at midnight", "if byte(days, at) == day then", "if false then"],
  ["other days that a single step loses", " .. sub(stored, 34)", ""],
  ["a call beyond the window's limit", "if length >= limit then", "if length > limit then"],
  ["a single call beyond the window's limit", "if length > limit then", "if length > limit + 1 then"],
  ["calls of one tick counted once", "local added = window.length - window.stored", "local added = 1"],
  ["the balance keeps its charges", "call('HINCRBY', money, 'b', format('%d', (0 - charged)))", "local _"],
  ["the balance keeps single charges", "call('HINCRBY', money, 'b', '-' .. charge_text)", "local _"],
] as const;

describe.skipIf(!hasRedis)("requests on Redis, in batches that are lost, delayed and repeated", () => {
  let server: RedisServer;
  let client: ReturnType<typeof createClient>;
  const execute: Execute = (command) => client.sendCommand([...command]);

  beforeAll(async () => {
    server = await startRedis();
    client = createClient({ url: server.url, RESP: 2 });
    await client.connect();
  });
  afterAll(async () => {
    client.destroy();
    await server.close();
  });

  test(
    "SCALE-02 BILL-02 BILL-03 BILL-04 RATE-08 every reply and every amount is that of exact state",
    async () => {
      const tally: Record<string, number> = {};
      const startedMs = performance.now();
      for (let n = 0; n < SEEDS_LEAST || performance.now() - startedMs < FOR_MS; n += 1) {
        const world = new RedisWorld(FROM + n, execute);
        await world.run(STEPS).catch((error: unknown) => {
          throw new Error(`seed ${FROM + n}: ${error instanceof Error ? error.message : String(error)}`);
        });
        for (const [what, count] of Object.entries(world.tally)) tally[what] = (tally[what] ?? 0) + count;
        await client.sendCommand(["FLUSHDB"]);
      }
      expect(MET.filter((what) => tally[what] === undefined)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test.each(MUTANTS)(
    "BILL-03 RATE-08 the simulation detects %s",
    async (_what, text, replacement) => {
      const mutate = (source: string) => {
        expect(source).toContain(text);
        return source.replaceAll(text, replacement);
      };
      let detected: unknown;
      for (let seed = 1; seed <= MUTANT_SEEDS && detected === undefined; seed += 1) {
        await new RedisWorld(seed, execute, mutate).run(STEPS).catch((error: unknown) => {
          detected = error;
        });
        await client.sendCommand(["FLUSHDB"]);
      }
      expect(String(detected)).toMatch(/^Error: (?:reply|state|money)/);
    },
    TIMEOUT_MS,
  );
});
