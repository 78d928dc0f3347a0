import fc from "fast-check";
import { expect, test } from "vitest";
import { sampleLongArrays } from "./json-sample.ts";

test("GEN-06 a body without long lists is looked at as it is", () => {
  expect(sampleLongArrays({ messages: Array(256).fill({ content: [{}] }), tools: null, n: 1 })).toBeUndefined();
});

test("GEN-06 some items of long lists stand for all, in their order, and a path to one is a path to it in the whole", () => {
  const length = fc.integer({ min: 257, max: 3000 });
  fc.assert(
    fc.property(length, length, (outer, inner) => {
      const whole = { other: { few: [1, 2] }, list: Array.from({ length: outer }, (_, at) => ({ at, parts: [at] })) };
      const deep = { ...whole, deep: { list: Array.from({ length: inner }, (_, at) => at) } };
      const some = sampleLongArrays(deep);
      const { value } = some ?? { value: undefined };
      expect(value).toMatchObject({ other: { few: [1, 2] } });
      const { list, deep: shortenedDeep } = Object(value);
      expect([list.length, shortenedDeep.list.length]).toEqual([256, 256]);
      const drawn = list.map(({ at }: { at: number }) => at);
      expect(drawn).toEqual(drawn.toSorted((a: number, b: number) => a - b));
      expect(some?.toOriginalPath(["list", 7, "parts", 0])).toEqual({
        path: ["list", drawn[7], "parts", 0],
        isInside: true,
      });
      expect(some?.toOriginalPath(["deep", "list", 255]).path).toEqual(["deep", "list", shortenedDeep.list[255]]);
      expect(some?.toOriginalPath(["other", "few", 0])).toEqual({ path: ["other", "few", 0], isInside: false });
      expect(some?.toOriginalPath(["list"]).isInside).toBe(false);
    }),
    { numRuns: 30 },
  );
});
