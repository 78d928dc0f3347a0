import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { priceOf } from "../../../tests/support/routing.ts";
import { nthSmallest } from "../../kit/nth-smallest.ts";
import { HOUR_MS, MINUTE_MS } from "../../kit/time.ts";
import type { Price } from "../catalogue/catalogue.ts";
import { expectedLatencyMs, expectedNanos } from "./candidate-metrics.ts";
import { expectedUnitNanos, unitRates } from "./cost.ts";
import { LatencyTracker, TrafficStats } from "./endpoint-health.ts";
import { SessionAffinity } from "./session-affinity.ts";

describe("latency", () => {
  const of = (health: LatencyTracker, nowMs: number, outputTokens: number) => {
    const measured = health.estimate("e", nowMs);
    return measured === undefined ? undefined : Math.round(expectedLatencyMs(measured, outputTokens));
  };

  test("ROUTE-02 a stream measures first byte and time per token, and the estimate combines both", () => {
    const health = new LatencyTracker();
    expect(health.estimate("e", 0)).toBeUndefined();
    health.record("e", { firstByteMs: 200, totalMs: 1200, outputTokens: 100 }, 0);
    expect(of(health, 0, 100)).toBe(1200);
    expect(of(health, 0, 1000)).toBe(10_200);
  });

  test("ROUTE-02 a non-streamed reply measures only the total, and similar requests are expected to take it", () => {
    for (const [totalMs, outputTokens] of [
      [2000, 100],
      [900, 512],
      [30_000, 512],
      [50, 0],
    ] as const) {
      const health = new LatencyTracker();
      health.record("e", { firstByteMs: null, totalMs, outputTokens }, 0);
      expect(of(health, 0, outputTokens)).toBe(totalMs);
    }
    // A short one that took long waited; it does not say that every token takes so long.
    const health = new LatencyTracker();
    health.record("e", { firstByteMs: null, totalMs: 1000, outputTokens: 2 }, 0);
    expect(of(health, 0, 512)).toBeLessThan(10_000);
  });

  test("ROUTE-02 newer samples weigh more the older the estimate is, and old estimates expire", () => {
    const slow = { firstByteMs: 1000, totalMs: 1000, outputTokens: 0 };
    const fast = { firstByteMs: 0, totalMs: 0, outputTokens: 0 };
    const left = (gapMs: number) => {
      const health = new LatencyTracker();
      health.record("e", slow, 0);
      health.record("e", fast, gapMs);
      return of(health, gapMs, 0) ?? Number.NaN;
    };
    expect(left(0)).toBe(800);
    expect(left(10 * MINUTE_MS)).toBe(400);
    expect(left(5 * HOUR_MS)).toBe(0);
    const health = new LatencyTracker();
    health.record("e", slow, 0);
    expect(of(health, 23 * HOUR_MS, 0)).toBe(1000);
    expect(of(health, 25 * HOUR_MS, 0)).toBeUndefined();
  });
});

describe("latency measured by several instances", () => {
  const MAX = 256;
  const stream = (firstByteMs: number) => ({ firstByteMs, totalMs: firstByteMs, outputTokens: 0 });
  const meet = (all: readonly LatencyTracker[], nowMs: number) => {
    const said = all.map((one) => one.report(nowMs, MAX));
    for (const [place, one] of all.entries())
      one.applyReports(
        said.filter((_, at) => at !== place),
        nowMs,
      );
  };
  const seen = (one: LatencyTracker, nowMs: number) => Math.round(one.estimate("e", nowMs)?.firstByteMs ?? Number.NaN);

  test("SCALE-02 ROUTE-02 all instances plan by the same estimates, including one that just started", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(2), fc.constantFrom("e", "f"), fc.nat(5000), fc.nat(MINUTE_MS)), { maxLength: 60 }),
        (answers) => {
          const all = [new LatencyTracker(), new LatencyTracker(), new LatencyTracker()];
          let nowMs = HOUR_MS;
          for (const [at, endpoint, firstByteMs, passedMs] of answers) {
            nowMs += passedMs;
            all[at]?.record(endpoint, stream(firstByteMs), nowMs);
            if (passedMs % 2 === 0) meet(all, nowMs);
          }
          const fresh = new LatencyTracker();
          meet([...all, fresh], nowMs);
          const figures = (one: LatencyTracker, endpoint: string) => {
            const { firstByteMs, atMs } = one.estimate(endpoint, nowMs) ?? {};
            return firstByteMs === undefined ? undefined : [Math.round(firstByteMs * 1000), atMs];
          };
          const times = answers.map(([, , firstByteMs]) => firstByteMs);
          for (const endpoint of ["e", "f"]) {
            const expected = figures(fresh, endpoint);
            for (const one of all) expect(figures(one, endpoint)).toEqual(expected);
            expect(expected === undefined).toBe(!answers.some(([, of]) => of === endpoint));
            expect(expected?.[0] ?? 0).toBeLessThanOrEqual(1000 * Math.max(0, ...times) + 1);
          }
        },
      ),
    );
  });

  test("SCALE-02 ROUTE-02 reports weigh by their samples, and little once another instance has newer ones", () => {
    const [one, other] = [new LatencyTracker(), new LatencyTracker()];
    for (let at = 0; at < 50; at += 1) one.record("e", stream(1000), 0);
    other.record("e", stream(100), 0);
    meet([one, other], 0);
    // Of five, as an average of the last answers always is, and of one.
    expect([seen(one, 0), seen(other, 0)]).toEqual([850, 850]);
    // Its own next answers count at once.
    for (let at = 0; at < 50; at += 1) other.record("e", stream(100), 0);
    expect(seen(other, 0)).toBe(550);
    // It became slow, which only one of them sees: the other has no requests for it.
    for (let at = 0; at < 50; at += 1) other.record("e", stream(9000), 5 * MINUTE_MS);
    meet([one, other], 5 * MINUTE_MS);
    expect(seen(one, 5 * MINUTE_MS)).toBeGreaterThan(8900);
    expect(seen(one, 29 * HOUR_MS)).toBeNaN();
  });

  test("SCALE-02 ROUTE-02 withdrawn reports are dropped, and a clock that is ahead makes no report newer than now", () => {
    const [one, other] = [new LatencyTracker(), new LatencyTracker()];
    one.record("e", stream(100), 0);
    other.record("e", stream(900), HOUR_MS);
    one.applyReports([other.report(HOUR_MS, MAX)], 0);
    expect(seen(one, 0)).toBe(500);
    one.applyReports([], 0);
    expect(seen(one, 0)).toBe(100);
    // Never more than so many, the newest first.
    one.record("f", stream(1), 1);
    expect(one.report(1, 1).map(([endpoint]) => endpoint)).toEqual(["f"]);
  });
});

test("ROUTE-02 the expected output follows the traffic of each model and never exceeds the request's limit", () => {
  const learned = new TrafficStats();
  expect(learned.expectedOutputTokens("m", undefined)).toBe(512);
  expect(learned.expectedOutputTokens("m", 100)).toBe(100);
  learned.recordReply("m", 1512, undefined);
  expect(learned.expectedOutputTokens("m", undefined)).toBe(612);
  for (let answers = 0; answers < 100; answers += 1) learned.recordReply("m", 40, 4096);
  expect(Math.round(learned.expectedOutputTokens("m", undefined))).toBe(40);
  expect(learned.expectedOutputTokens("other", undefined)).toBe(512);
});

test("ROUTE-02 replies cut at the caller's output limit do not lower the expected output", () => {
  const learned = new TrafficStats();
  for (let answers = 0; answers < 100; answers += 1) learned.recordReply("m", 1, 1);
  expect(learned.expectedOutputTokens("m", undefined)).toBe(512);
  // It wrote at least so much.
  learned.recordReply("m", 1512, 1512);
  expect(learned.expectedOutputTokens("m", undefined)).toBe(612);
});

test("ROUTE-06 session affinity is per workspace and expires, and its prompt cache expires earlier", () => {
  const sessions = new SessionAffinity();
  sessions.record("ws_1", "s", { endpoint: "e", seenTokens: 700 }, 0);
  expect(sessions.find("ws_1", "s", 4 * MINUTE_MS)).toEqual({ endpoint: "e", seenTokens: 700 });
  expect(sessions.find("ws_1", "s", 6 * MINUTE_MS)).toEqual({ endpoint: "e", seenTokens: 0 });
  expect(sessions.find("ws_1", "s", 61 * MINUTE_MS)).toBeUndefined();
  expect(sessions.find("ws_2", "s", 0)).toBeUndefined();
  expect(sessions.find("ws_1", "other", 0)).toBeUndefined();
});

describe("expected cost", () => {
  const rates = (price: Parameters<typeof priceOf>[0]) => {
    const found = unitRates(priceOf(price), new Map(), "EUR");
    if (found === undefined) throw new Error("no rate");
    return found;
  };

  test("ROUTE-02 covers cached input, the per-request price and further turns from the cache", () => {
    const price = { input: "1", output: "4", cached: "0.1", perRequest: "0.001" };
    // Nano-units: a million tokens at one euro is 1e9, so a token is 1000.
    expect(expectedNanos(rates(price), 100, 0, 10, 0)).toBe(100 * 1000 + 10 * 4000 + 1_000_000);
    expect(expectedNanos(rates(price), 100, 60, 10, 0)).toBe(40 * 1000 + 60 * 100 + 10 * 4000 + 1_000_000);
    const second = (100 + 10) * 100 + 10 * 4000 + 1_000_000;
    const third = (100 + 20) * 100 + 10 * 4000 + 1_000_000;
    expect(expectedNanos(rates(price), 100, 0, 10, 2)).toBe(
      expectedNanos(rates(price), 100, 0, 10, 0) + second + third,
    );
  });

  test("ROUTE-02 a large context pays the rates of its tier", () => {
    const tier = { aboveInputTokens: 1000, inputPer1mTokens: { digits: 3n, scale: 0 }, outputPer1mTokens: null };
    const price = { ...priceOf({ input: "1", output: "2" }), tiers: [{ ...tier, cachedReadPer1mTokens: null }] };
    const found = unitRates(price, new Map(), "EUR");
    if (found === undefined) throw new Error("no rate");
    expect(expectedNanos(found, 1000, 0, 10, 0)).toBe(1000 * 1000 + 10 * 2000);
    expect(expectedNanos(found, 1001, 0, 10, 0)).toBe(1001 * 3000 + 10 * 2000);
  });

  test("ROUTE-08 a transcript is compared by billed seconds, or by audio input and output tokens", () => {
    const tokens = priceOf({ input: "1", output: "4" });
    const [ten, minute] = [
      { digits: 10n, scale: 0 },
      { digits: 6n, scale: 3 },
    ];
    const expected = {
      characters: 0,
      seconds: 60,
      audioOutputTokens: 0,
      transcript: { audioInputTokens: 600, outputTokens: 225 },
    };
    const nanosAt = (price: Price) => {
      const found = unitRates(price, new Map(), "EUR");
      return found === undefined ? undefined : expectedUnitNanos(found, expected);
    };
    expect(nanosAt(tokens)).toBe(600 * 1000 + 225 * 4000);
    expect(nanosAt({ ...tokens, audioInputPer1mTokens: ten })).toBe(600 * 10_000 + 225 * 4000);
    expect(nanosAt({ ...tokens, perMinuteAudio: minute })).toBeCloseTo(6_000_000, 6);
  });

  test("a price in a currency without an exchange rate is not compared", () => {
    expect(unitRates(priceOf({ input: "1", currency: "XXX" }), new Map(), "EUR")).toBeUndefined();
  });
});

test("nthSmallest returns the value that sorting would put at that index", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true }), { minLength: 1, maxLength: 60 }), fc.nat(), (values, seed) => {
      const place = seed % values.length;
      const sorted = values.toSorted((a, b) => a - b);
      expect(nthSmallest(Float64Array.from(values), place) === sorted[place]).toBe(true);
    }),
  );
});

test("PORTAL-10 recent percentiles show p50 and p95 of total time and of time to first byte", () => {
  const health = new LatencyTracker();
  expect(health.recentPercentiles("a")).toBeUndefined();
  for (let ms = 1; ms <= 100; ms += 1) health.record("a", { firstByteMs: null, totalMs: ms, outputTokens: 1 }, 0);
  expect(health.recentPercentiles("a")).toEqual({ samples: 100, total: { p50Ms: 50, p95Ms: 95 }, firstByte: null });
  for (let at = 0; at < 200; at += 1) health.record("a", { firstByteMs: 7, totalMs: 900, outputTokens: 1 }, 0);
  const slow = { p50Ms: 900, p95Ms: 900 };
  expect(health.recentPercentiles("a")).toEqual({ samples: 128, total: slow, firstByte: { p50Ms: 7, p95Ms: 7 } });
});
