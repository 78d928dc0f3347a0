import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalBody } from "./canonical-body.ts";

const value = fc.jsonValue({ maxDepth: 3 }).map((one) => JSON.parse(JSON.stringify(one)) as unknown);
const object = fc.dictionary(
  fc.string({ minLength: 1 }).filter((name) => name !== "__proto__"),
  value,
);
const spaced = (text: string) => ` \n${text}\t `;

test("CACHE-01 white space and the order of top-level members make no difference, and a value does", () => {
  fc.assert(
    fc.property(object, value, (members, other) => {
      const text = canonicalBody(JSON.stringify(members));
      if (text === undefined) return;
      const reversed = Object.fromEntries(Object.entries(members).reverse());
      expect(canonicalBody(spaced(JSON.stringify(reversed, null, 3)))).toBe(text);
      expect(JSON.parse(text)).toEqual(members);
      for (const name of Object.keys(members)) {
        const changed = canonicalBody(JSON.stringify({ ...members, [name]: [members[name], other] }));
        expect(changed).not.toBe(text);
      }
    }),
    { numRuns: 60 },
  );
});

test("CACHE-01 deeper order, digits beyond the precision of numbers and spaces in texts count", () => {
  const different = [
    '{"a":{"b":1,"c":2}}',
    '{"a":{"c":2,"b":1}}',
    '{"a":12345678901234567890}',
    '{"a":12345678901234567891}',
    '{"a":1.0}',
    '{"a":1}',
    '{"a":"x y"}',
    '{"a":"x  y"}',
    String.raw`{"a":"x\" y"}`,
    String.raw`{"a":"x\"  y"}`,
    '{"a":[1,2]}',
    '{"a":[2,1]}',
  ];
  expect(new Set(different.map((text) => canonicalBody(text))).size).toBe(different.length);
  expect(canonicalBody('{"a":1,"cache":{"ttl":1}}', new Set(["cache"]))).toBe('{"a":1}');
  expect(canonicalBody('{"a":1,"a":2}')).toBeUndefined();
});
