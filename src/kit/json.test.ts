import fc from "fast-check";
import { expect, test } from "vitest";
import { isJsonObject, itemSpans, JSON_DEPTH_MAX, parseJsonObject, patchMembers, scanMembers } from "./json.ts";

const parse = (text: string | Buffer) => parseJsonObject(Buffer.from(text));
const problemOf = (text: string | Buffer) => {
  const parsed = parse(text);
  return "problem" in parsed ? parsed.problem : undefined;
};

test("what JSON.parse reads is read the same, for any object", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })),
      fc.constantFrom(undefined, 1, "\t"),
      (value, space) => {
        fc.pre(!JSON.stringify(value).includes("__proto__"));
        const parsed = parse(JSON.stringify(value, null, space));
        expect("problem" in parsed ? parsed : parsed.value).toEqual(JSON.parse(JSON.stringify(value)));
      },
    ),
  );
});

test("what JSON.parse refuses is refused, whatever the bytes", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("{", "}", "[", "]", '"', ":", ",", "a", "1", "\\", " ") }),
      (text) => {
        let valid = true;
        try {
          valid = isJsonObject(JSON.parse(text));
        } catch {
          valid = false;
        }
        if (!valid) expect(problemOf(text)).toBeTypeOf("string");
      },
    ),
    { numRuns: 2000 },
  );
});

test("malformed UTF-8, depth, double keys and __proto__ are refused", () => {
  expect(problemOf(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toContain("UTF-8");
  expect(problemOf(`{"a":${"[".repeat(JSON_DEPTH_MAX)}${"]".repeat(JSON_DEPTH_MAX)}}`)).toContain("deeper");
  expect(problemOf(`{"a":${"[".repeat(JSON_DEPTH_MAX - 1)}${"]".repeat(JSON_DEPTH_MAX - 1)}}`)).toBeUndefined();
  expect(problemOf('{"model":"a","model":"b"}')).toContain('"model" occurs twice');
  expect(problemOf('{"model":"a","\\u006dodel":"b"}')).toContain("twice");
  expect(problemOf('{"a":{"__proto__":1}}')).toContain("__proto__");
  expect(problemOf('{"a":[{"\\u005f_proto__":1}]}')).toContain("__proto__");
  expect(problemOf("[1]")).toContain("object");
});

test("a body of very many parts is refused before it is read, where its reader says how many are too many", () => {
  const body = (count: number) => Buffer.from(`{"a":[${Array.from({ length: count }, () => "{}").join(",")}]}`);
  const limits = { partsMax: 21 };
  expect("problem" in parseJsonObject(body(10), limits)).toBe(false);
  expect(parseJsonObject(body(11), limits)).toMatchObject({ problem: "the body has more than 21 members and items" });
  const members = Array.from({ length: 22 }, (_, at) => `"k${at}":1`).join(",");
  for (const text of [`{${members}}`, `{"a":{${members}}}`, `{"a":[1${",1".repeat(20)}]}`])
    expect(parseJsonObject(Buffer.from(text), limits)).toMatchObject({
      problem: "the body has more than 21 members and items",
    });
  expect("problem" in parseJsonObject(body(10_000))).toBe(false);
  // What stands in a text is a text.
  expect("problem" in parseJsonObject(Buffer.from(JSON.stringify({ a: "{[,".repeat(100) })), limits)).toBe(false);
});

test("a property named constructor is data, and twice the same key below the top is left to the reader", () => {
  const parsed = parse('{"tools":[{"properties":{"constructor":{"type":"string"},"a":1,"a":2}}]}');
  expect("problem" in parsed).toBe(false);
});

test("a refusal never quotes the body", () => {
  expect(problemOf('{"secret":"hunter2" oops}')).not.toContain("hunter2");
  expect(problemOf('{"a": hunter2}')).not.toContain("hunter2");
});

test("a deep or long body costs little: no recursion, no quadratic scan", () => {
  expect(problemOf("[".repeat(5_000_000))).toContain("deeper");
  const parsed = parse(JSON.stringify({ image: "A".repeat(20_000_000), model: "m" }));
  expect("problem" in parsed ? parsed : parsed.members.spans.map(({ key }) => key)).toEqual(["image", "model"]);
});

test("patches replace, add and take out members and leave every other byte", () => {
  const text = '{ "a" : 1,\n  "b":{"x":[1, 2]} , "c":"ü\\"," }';
  const body = parse(text);
  if ("problem" in body) throw new Error(body.problem);
  const patched = (patches: Parameters<typeof patchMembers>[1]) => patchMembers(body, patches);
  expect(patched([{ key: "a", json: "42" }])).toBe('{ "a" : 42,\n  "b":{"x":[1, 2]} , "c":"ü\\"," }');
  expect(patched([{ key: "d", json: "true" }])).toBe('{ "a" : 1,\n  "b":{"x":[1, 2]} , "c":"ü\\"," ,"d":true}');
  expect(patched([{ key: "c", json: null }])).toBe('{ "a" : 1,\n  "b":{"x":[1, 2]} }');
  expect(patched([{ key: "missing", json: null }])).toBe(text);
});

test("any set of patches gives the object one would expect", () => {
  const keys = fc.constantFrom("a", "b", "c", "d");
  const patch = fc.record({
    key: keys,
    json: fc.option(fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.stringify(value))),
  });
  fc.assert(
    fc.property(
      fc.dictionary(keys, fc.jsonValue({ maxDepth: 2 })),
      fc.uniqueArray(patch, { selector: ({ key }) => key }),
      (value, patches) => {
        const text = JSON.stringify(value, null, 1);
        fc.pre(!text.includes("__proto__"));
        const body = parse(text);
        if ("problem" in body) throw new Error(body.problem);
        const expected: Record<string, unknown> = JSON.parse(text);
        for (const { key, json } of patches) {
          if (json === null) delete expected[key];
          else expected[key] = JSON.parse(json);
        }
        expect(JSON.parse(patchMembers(body, patches))).toEqual(expected);
      },
    ),
  );
});

test("the members of a text that was read before are found as when it is read, and none where two have one name", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })),
      fc.constantFrom(undefined, 1),
      (value, space) => {
        const text = JSON.stringify(value, null, space);
        fc.pre(!text.includes("__proto__"));
        const parsed = parse(text);
        if ("problem" in parsed) throw new Error(parsed.problem);
        const { members, end } = parsed;
        expect(scanMembers(text)).toEqual({ text, members, end });
      },
    ),
  );
  expect(scanMembers('{"id":1,"\\u0069d":2}')).toBeUndefined();
  const many = Array.from({ length: 40 }, (_, at) => `"m${at}":${at}`).join();
  expect(scanMembers(`{${many}}`)?.members.size).toBe(40);
  expect(scanMembers(`{${many},"m7":7}`)).toBeUndefined();
});

test("the items of a list are found where they stand, whatever is in them and between them", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue({ maxDepth: 3 })), fc.constantFrom(undefined, 1, "\t"), (list, space) => {
      const text = JSON.stringify(list, null, space);
      const items = itemSpans(text).map(({ start, end }) => text.slice(start, end));
      expect(items.map((item) => JSON.parse(item))).toEqual(JSON.parse(text));
      for (const item of items) expect(item).toBe(item.trim());
    }),
  );
});
