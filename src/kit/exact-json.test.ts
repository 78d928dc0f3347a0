import fc from "fast-check";
import { expect, test } from "vitest";
import { parseExactly } from "./exact-json.ts";

test("numbers are written again as they came, whatever JavaScript can hold", () => {
  const text = '{"a":9007199254740993,"b":1.0,"c":[1e400,-0,0.10],"d":12,"e":{"__proto__":1.50}}';
  expect(JSON.stringify(parseExactly(text))).toBe(text);
});

test("everything else is parsed as usual", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(parseExactly(text))).toBe(text);
    }),
  );
  expect(parseExactly('{"a":[1,"x",null,true]}')).toEqual({ a: [1, "x", null, true] });
  expect(() => parseExactly("{")).toThrow(SyntaxError);
});
