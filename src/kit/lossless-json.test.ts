import fc from "fast-check";
import { expect, test } from "vitest";
import { parseLosslessJson, parsePreciseJson } from "./lossless-json.ts";

test("numbers keep their notation, even beyond the range of a double", () => {
  const text = '{"a":9007199254740993,"b":1.0,"c":[1e400,-0,0.10],"d":12,"e":{"__proto__":1.50}}';
  expect(JSON.stringify(parseLosslessJson(text))).toBe(text);
});

test("everything else is parsed as by JSON.parse", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(parseLosslessJson(text))).toBe(text);
    }),
  );
  expect(parseLosslessJson('{"a":[1,"x",null,true]}')).toEqual({ a: [1, "x", null, true] });
  expect(() => parseLosslessJson("{")).toThrow(SyntaxError);
});

/** Digits and exponent of a number in any notation. */
function decimalOf(text: string): readonly [digits: bigint, power: bigint] {
  const [, sign, whole = "", part = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = `${whole}${part}`.replace(/0+$/, "");
  const cut = whole.length + part.length - digits.length;
  if (BigInt(digits) === 0n) return [0n, 0n];
  return [BigInt(`${sign}${digits}`), BigInt(power) - BigInt(part.length) + BigInt(cut)];
}

test("no number changes its value, however many digits it has", () => {
  const digits = (maxLength: number) => fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength });
  const number = fc
    .tuple(
      fc.constantFrom("", "-"),
      fc.bigInt({ min: 0n, max: 10n ** 20n }),
      digits(20),
      fc.integer({ min: -999, max: 999 }),
    )
    .chain(([sign, whole, part, power]) =>
      fc.constantFrom(
        `${sign}${whole}`,
        `${sign}${whole}.${part.join("")}`,
        `${sign}${whole % 1000n}.${part.join("")}`,
        `${sign}${whole % 1000n}E${power}`,
        `${sign}${whole}.${part.join("")}e${power % 100}`,
      ),
    );
  fc.assert(
    fc.property(number, (text) => {
      const written = JSON.stringify(parsePreciseJson(`[${text}]`)).slice(1, -1);
      expect(decimalOf(written)).toEqual(decimalOf(text));
    }),
  );
});

test("a number that fits into a double stays a number", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(parsePreciseJson(`{"a":[${String(value)},9007199254740993]}`)).toMatchObject({
        a: [Number(String(value)), {}],
      });
    }),
  );
  expect(parsePreciseJson('[1.0,1e2,0.50,"9007199254740993"]')).toEqual([1, 100, 0.5, "9007199254740993"]);
  expect(() => parsePreciseJson("{")).toThrow(SyntaxError);
});
