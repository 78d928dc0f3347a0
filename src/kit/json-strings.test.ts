import fc from "fast-check";
import { expect, test } from "vitest";
import { hasRepeatedMembers } from "./json-strings.ts";

const isRepeated = (json: string) => hasRepeatedMembers(json, JSON.parse(json));

test("CLASS-02 no JSON that was written from a value has repeated members", () => {
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: "medium" }), (value) => {
      expect(isRepeated(JSON.stringify(value))).toBe(false);
    }),
  );
});

test.each([
  ['[{"a": 1, "b": {"a" : 2}}]', false],
  ['{"a": "\\"a\\": 1", "b": ":"}', false],
  ['{"a": {"b": "x", "b": "y"}}', true],
  ['[{"b": 1,\n"\\u0062"\n: 2}]', true],
  ["[]", false],
])("CLASS-02 repeated members are told at any depth, however they are written: %s", (json, expected) => {
  expect(isRepeated(json)).toBe(expected);
});
