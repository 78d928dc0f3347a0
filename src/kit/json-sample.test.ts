import fc from "fast-check";
import { expect, test } from "vitest";
import { sampleLongArrays } from "./json-sample.ts";

test("GEN-06 a value without long arrays is not sampled", () => {
  expect(
    sampleLongArrays({ messages: Array(256).fill({ content: [{}] }), tools: null, n: 1 }, Math.random),
  ).toBeUndefined();
});

test("GEN-06 long arrays are sampled in order, and a path in the sample maps to the original", () => {
  const length = fc.integer({ min: 257, max: 3000 });
  fc.assert(
    fc.property(length, length, (outer, inner) => {
      const shallow = { other: { few: [1, 2] }, list: Array.from({ length: outer }, (_, at) => ({ at, parts: [at] })) };
      const deep = { ...shallow, deep: { list: Array.from({ length: inner }, (_, at) => at) } };
      const sample = sampleLongArrays(deep, Math.random);
      const { value } = sample ?? { value: undefined };
      expect(value).toMatchObject({ other: { few: [1, 2] } });
      const { list, deep: sampledDeep } = Object(value);
      expect([list.length, sampledDeep.list.length]).toEqual([256, 256]);
      const indexes = list.map(({ at }: { at: number }) => at);
      expect(indexes).toEqual(indexes.toSorted((a: number, b: number) => a - b));
      expect(sample?.toOriginalPath(["list", 7, "parts", 0])).toEqual({
        path: ["list", indexes[7], "parts", 0],
        isInside: true,
      });
      expect(sample?.toOriginalPath(["deep", "list", 255]).path).toEqual(["deep", "list", sampledDeep.list[255]]);
      expect(sample?.toOriginalPath(["other", "few", 0])).toEqual({ path: ["other", "few", 0], isInside: false });
      expect(sample?.toOriginalPath(["list"]).isInside).toBe(false);
    }),
    { numRuns: 30 },
  );
});
