import fc from "fast-check";
import { expect, test } from "vitest";
import { renderVector } from "./render.ts";

const as = { encoding: "base64", scale: "as_given" } as const;
const plain = { encoding: "float", scale: "as_given" } as const;
const floats = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 64 });

test("EMB-01 32-bit floats survive conversion between numbers and base64 both ways", () => {
  fc.assert(
    fc.property(floats, (vector) => {
      // JSON has no negative zero.
      const numbers = vector.map((value) => value + 0);
      const coded = JSON.parse(renderVector(numbers, as)?.json ?? "");
      const bytes = Buffer.from(coded, "base64");
      expect([...new Float32Array(new Uint8Array(bytes).buffer)]).toEqual(numbers);
      expect(JSON.parse(renderVector(coded, plain)?.json ?? "")).toEqual(numbers);
      expect(JSON.parse(renderVector(coded, as)?.json ?? "")).toBe(coded);
      expect(renderVector(coded, as)?.dimensions).toBe(numbers.length);
    }),
  );
});

test("EMB-01 numbers keep their digits", () => {
  expect(renderVector(JSON.parse("[-0.0069292834,1e-8,0.1]"), plain)?.json).toBe("[-0.0069292834,1e-8,0.1]");
});

test("EMB-01 a zero vector is not normalised", () => {
  expect(renderVector([0, 0], { encoding: "float", scale: "unit" })?.json).toBe("[0,0]");
  expect(renderVector([0, -5], { encoding: "float", scale: "unit" })?.json).toBe("[0,-1]");
});

test("EMB-01 unpadded base64 is accepted and padded in output", () => {
  const [json] = [renderVector("AACAPwAAAEA", plain)?.json];
  expect(json).toBe("[1,2]");
  expect(renderVector("AACAPwAAAEA", as)?.json).toBe('"AACAPwAAAEA="');
});

test.each([
  [undefined],
  [null],
  [{}],
  [[]],
  [[1, Number.NaN]],
  [[1, Number.POSITIVE_INFINITY]],
  [[3.5e38]],
  [""],
  ["AAAA"],
  ["AA A"],
  ["AADAfw=="],
])("EMB-01 %j is not a vector", (given) => {
  expect(renderVector(given, plain)).toBeUndefined();
  expect(renderVector(given, as)).toBeUndefined();
});

test("SAFE-01 a vector longer than any model's is refused, as numbers and as base64", () => {
  const zeros = (dimensions: number) => [
    Array.from({ length: dimensions }, () => 0),
    Buffer.alloc(4 * dimensions).toString("base64"),
  ];
  for (const longest of zeros(65_536)) expect(renderVector(longest, plain)?.dimensions).toBe(65_536);
  for (const longer of zeros(65_537)) expect(renderVector(longer, plain)).toBeUndefined();
});
