import { describe, expect, test } from "vitest";
import { readJson, setJson } from "./jsonc-edit.ts";

describe("a value is set and every other character stays", () => {
  test.each([
    ["", ["a", "b"], 1, '{\n  "a": {\n    "b": 1\n  }\n}\n'],
    ["{}", ["a"], 1, '{\n  "a": 1\n}'],
    ['{"x":1}', ["a"], "t", '{"x":1, "a": "t"}'],
    ['{\n    "x": 1\n}\n', ["a"], 2, '{\n    "x": 1,\n    "a": 2\n}\n'],
    ['{\n  // why\n  "x": 1, // last\n}\n', ["a"], 2, '{\n  // why\n  "x": 1,\n  "a": 2, // last\n}\n'],
    ['{ "a": { "b": 1 }, "c": [1, 2] }', ["a", "b"], 3, '{ "a": { "b": 3 }, "c": [1, 2] }'],
    ['{"a":1,"b":2}', ["a"], undefined, '{"b":2}'],
    ['{"a":1,"b":2}', ["b"], undefined, '{"a":1}'],
    ['{"a":1}', ["a"], undefined, "{}"],
    ['{"a":1}', ["b", "c"], undefined, '{"a":1}'],
    ['{"say \\"x\\"":"}//","b":2}', ["b"], 3, '{"say \\"x\\"":"}//","b":3}'],
  ])("%j at %j", (text, path, value, expected) => {
    const changed = setJson(text, path, value);
    expect(changed).toBe(expected);
    expect(readJson(changed, path)).toEqual(value);
  });

  test.each([['{"a":}'], ['{"a" 1}'], ["[1]"], ['{"a":1} x'], ['{"a":"']])("%j is refused", (text) => {
    expect(() => setJson(text, ["b"], 1)).toThrow();
  });

  test("a member that is no object is not looked into", () => {
    expect(() => setJson('{"env":"x"}', ["env", "A"], "1")).toThrow("env is not an object");
  });
});

test("values are read with their comments and trailing commas", () => {
  const text = '{ "a": { // one\n "b": [1, /* two */ 2,], }, "u": "http://x" }';
  expect([readJson(text, ["a"]), readJson(text, ["u"]), readJson(text, ["n"])]).toEqual([
    { b: [1, 2] },
    "http://x",
    undefined,
  ]);
});
