import { expect, test } from "vitest";
import {
  CALL_MEMBERS_MAX,
  jsonChars,
  measureJson,
  OversizedTextError,
  stringifyArguments,
  stringifyRewritten,
  TEXT_LIMITS,
} from "./json-size.ts";
import { JsonSpan } from "./json-span.ts";

test("SAFE-01 the size of a value is close to the length of its JSON text, and the count stops at its limit", () => {
  const value = { name: "a value", items: [true, { inner: "text ".repeat(1000) }] };
  expect(jsonChars(value, 1e6) / JSON.stringify(value).length).toBeCloseTo(1, 1);
  expect(
    jsonChars(
      Array.from({ length: 1000 }, () => "text"),
      100,
    ),
  ).toBeLessThan(8_000);
});

test("SAFE-01 the text of spans does not count, and is written as it is", () => {
  const value = { logprobs: new JsonSpan(`[${"1.0,".repeat(TEXT_LIMITS.replyChars / 4)}1]`, undefined) };
  expect(jsonChars(value, 100)).toBeLessThan(20);
  expect(stringifyRewritten(value)).toBe(`{"logprobs":${value.logprobs.text}}`);
  expect(stringifyArguments({ a: new JsonSpan("[1.0]", undefined) })).toBe('{"a":[1.0]}');
});

test("SAFE-01 arguments and rewritten replies beyond their limits are refused, not encoded", () => {
  expect(() => stringifyArguments({ text: "x".repeat(TEXT_LIMITS.eventChars) })).toThrow(OversizedTextError);
  expect(() => stringifyArguments({ list: Array.from({ length: CALL_MEMBERS_MAX }, () => 0) })).toThrow(
    "a tool call has more than 32000 members and items",
  );
  expect(() => stringifyRewritten(["x".repeat(TEXT_LIMITS.replyChars)])).toThrow(OversizedTextError);
  expect(measureJson(["x".repeat(10)], (text) => text.length)).toBe(14);
  expect(measureJson(["x".repeat(1024 * 1024)], () => 0)).toBeGreaterThan(1024 * 1024);
});
