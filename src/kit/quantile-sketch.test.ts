import fc from "fast-check";
import { expect, test } from "vitest";
import {
  addToSketch,
  emptySketches,
  encodeSketches,
  mergeColumns,
  mergeEncoded,
  mergeSketch,
  type QuantileSketch,
  sketchCount,
  sketchQuantiles,
} from "./quantile-sketch.ts";

const QUANTILES = [0.5, 0.95, 0.99];

function sketchOf(values: readonly number[]): QuantileSketch {
  const sketch: QuantileSketch = new Map();
  for (const value of values) addToSketch(sketch, value);
  return sketch;
}

function decode(bytes: Uint8Array | null, count = 1): readonly QuantileSketch[] {
  const sketches = emptySketches(count);
  if (bytes !== null) mergeEncoded(sketches, bytes);
  return sketches;
}

const latencies = fc.array(fc.double({ min: 0.05, max: 600_000, noNaN: true }), { minLength: 1, maxLength: 400 });

test("LOG-21 percentiles of merged sketches are within 1 % of the exact values, however the values were split", () => {
  fc.assert(
    fc.property(latencies, fc.integer({ min: 1, max: 7 }), (values, instances) => {
      const merged: QuantileSketch = new Map();
      for (let at = 0; at < instances; at += 1)
        mergeSketch(merged, sketchOf(values.filter((_, index) => index % instances === at)));
      const sorted = values.toSorted((a, b) => a - b);
      for (const [index, quantile] of QUANTILES.entries()) {
        const exact = sorted[Math.max(1, Math.ceil(quantile * sorted.length)) - 1] ?? 0;
        const estimate = sketchQuantiles(merged, QUANTILES)?.[index] ?? 0;
        expect(Math.abs(estimate - exact) / exact).toBeLessThanOrEqual(0.010001);
      }
      expect(sketchCount(merged)).toBe(values.length);
    }),
    { seed: 21, numRuns: 300 },
  );
});

test("LOG-21 a merge of encoded sketches is exact: the same bytes as one sketch of all values", () => {
  fc.assert(
    fc.property(latencies, latencies, latencies, (one, two, three) => {
      const encoded = [one, two, three].map((values) => encodeSketches([sketchOf(values), sketchOf(values.slice(1))]));
      const merged = encoded.reduce<Uint8Array | null>((sum, bytes) => mergeColumns(sum, bytes), null);
      const whole = encodeSketches([
        sketchOf([...one, ...two, ...three]),
        sketchOf([...one.slice(1), ...two.slice(1), ...three.slice(1)]),
      ]);
      expect(merged).toEqual(whole);
    }),
    { seed: 21, numRuns: 100 },
  );
});

test("LOG-21 a subtracted value leaves no trace", () => {
  const difference: QuantileSketch = new Map();
  addToSketch(difference, 120, -1);
  const rest = mergeColumns(encodeSketches([sketchOf([80, 120])]), encodeSketches([difference]));
  expect(rest).toEqual(encodeSketches([sketchOf([80])]));
  expect(mergeColumns(encodeSketches([sketchOf([120])]), encodeSketches([difference]))).toBeNull();
});

test("LOG-21 an empty sketch has no percentiles; zero and huge values have a bucket", () => {
  expect(sketchQuantiles(new Map(), QUANTILES)).toBeUndefined();
  expect(sketchQuantiles(sketchOf([0]), [0.5])?.[0]).toBeLessThan(0.011);
  expect(sketchQuantiles(sketchOf([1e300]), [0.5])?.[0]).toBeGreaterThan(0.98e9);
});

test("LOG-21 large counts survive encoding, unknown versions are refused", () => {
  const sketch: QuantileSketch = new Map([[400, 2 ** 45 + 3]]);
  expect(decode(encodeSketches([sketch]))).toEqual([sketch]);
  expect(decode(encodeSketches([sketch]), 2)).toEqual([sketch, new Map()]);
  expect(() => decode(Uint8Array.of(9))).toThrow("version 9");
});

test("LOG-21 an hour of 10,000 requests takes less than 1 kB", () => {
  let state = 7;
  const random = () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
  const values = Array.from({ length: 10_000 }, () => 200 * Math.exp(random() + random() - 1));
  expect(encodeSketches([sketchOf(values)])?.length).toBeLessThan(1000);
});
