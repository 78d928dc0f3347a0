import { expect, test } from "vitest";
import type { z } from "zod";
import { decodeWith } from "../../src/app/request-input.ts";
import { Fault, type FaultCode } from "../../src/contract/faults.ts";
import type { JsonObject } from "../../src/kit/json.ts";

/**
 * What every field accepts at its limits, and what just beyond them is refused by name. `undefined` is a field that is
 * not sent. The rows of one surface change one value each of a body with all fields.
 */
export type Row = readonly [path: string, taken: readonly unknown[], refused: readonly unknown[], code?: FaultCode];

export const NOT_SENT = [undefined, null];
export const chars = (count: number) => "x".repeat(count);

export const text = (path: string): Row => [path, ["a", ""], [undefined, null, 7]];
export const word = (path: string): Row => [path, ["a"], [undefined, null, 7, ""]];
export const maybeText = (path: string): Row => [path, [...NOT_SENT, "a", ""], [7]];
export const maybeFlag = (path: string): Row => [path, [...NOT_SENT, true, false], ["true", 1]];
export const maybeChars = (path: string, max: number): Row => [path, [...NOT_SENT, chars(max)], [chars(max + 1), 7]];
export const maybeWord = (path: string, max: number): Row => [
  path,
  [...NOT_SENT, "a", chars(max)],
  ["", chars(max + 1), 7],
];
export const maybeNumber = (path: string, min: number, max: number): Row => [
  path,
  [...NOT_SENT, min, max],
  [min - 0.01, max + 0.01, "1"],
];
export const maybeInt = (path: string, min: number, max = Number.MAX_SAFE_INTEGER): Row => [
  path,
  [...NOT_SENT, min, max],
  [min - 1, max + 1, min + 0.5, "1"],
];
export const maybeOneOf = (path: string, ...words: string[]): Row => [path, [...NOT_SENT, ...words], ["other"]];
export const maybeObject = (path: string): Row => [path, NOT_SENT, ["a", 7]];
export const list = (path: string, item: unknown, min: number, max: number): Row => [
  path,
  [Array(min).fill(item), Array(max).fill(item)],
  [...(min === 0 ? [] : [Array(min - 1).fill(item)]), Array(max + 1).fill(item)],
];
export const maybeList = (path: string, item: unknown, min: number, max: number): Row => {
  const [, taken, refused] = list(path, item, min, max);
  return [path, [...NOT_SENT, ...taken], [...refused, "a"]];
};
/** An unknown member: it is passed through to the provider. */
export const open = (path: string): Row => [`${path}.more`, [1], []];
/** An unknown member where it could not be reported. */
export const closed = (path: string): Row => [`${path}.more`, [], [1], "unsupported_parameter"];

function put(body: JsonObject, path: string, value: unknown): JsonObject {
  const changed = structuredClone(body);
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  const parent = keys.reduce<object>((at, key) => Reflect.get(at, key), changed);
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else Reflect.set(parent, last, value);
  return changed;
}

function problemOf(schema: z.ZodType, body: JsonObject): string | undefined {
  try {
    decodeWith(schema, body);
  } catch (error) {
    if (error instanceof Fault) return `${error.code} ${error.param}`;
    throw error;
  }
  return undefined;
}

export function expectShapes(schema: z.ZodType, body: JsonObject, rows: readonly Row[]): void {
  test("accepts the body itself", () => expect(problemOf(schema, body)).toBeUndefined());
  test.each(rows.map((row) => ({ row })))("ERR-10 $row.0", ({ row }) => {
    const [path, taken, refused, code = "invalid_value"] = row;
    const shown = (value: unknown) => JSON.stringify(value)?.slice(0, 60);
    const problemsFor = (values: readonly unknown[]) =>
      values.map((value) => [shown(value), problemOf(schema, put(body, path, value))]);
    expect(problemsFor(taken)).toEqual(taken.map((value) => [shown(value), undefined]));
    expect(problemsFor(refused)).toEqual(refused.map((value) => [shown(value), `${code} ${path}`]));
  });
}

export const TOKENS_MAX = 10_000_000;
export const EPHEMERAL = { type: "ephemeral", ttl: "5m" };
export const TIERS = [
  "auto",
  "default",
  "standard",
  "on_demand",
  "flex",
  "priority",
  "scale",
  "fast",
  "ultrafast",
  "performance",
];

export const PREFERENCES = { only: ["a"], max_price: { prompt: 1 } };
export const ROUTING_HINTS: readonly Row[] = [
  maybeObject("provider"),
  maybeList("provider.only", "a", 0, 100),
  maybeList("provider.ignore", "a", 0, 100),
  maybeList("provider.order", "a", 0, 100),
  ["provider.only.0", ["a", chars(200)], ["", chars(201), 7]],
  maybeFlag("provider.allow_fallbacks"),
  maybeFlag("provider.require_parameters"),
  maybeOneOf("provider.data_collection", "allow", "deny"),
  maybeFlag("provider.zdr"),
  maybeObject("provider.max_price"),
  ...["prompt", "completion", "request", "image"].map(
    (name): Row => [
      `provider.max_price.${name}`,
      [...NOT_SENT, 0, 0.5, "0", "999999999.123456789012"],
      [-0.01, "", "-1", "1.", "1e3", "1 ", " 1", "9999999999", "1.1234567890123", true],
    ],
  ),
  maybeOneOf("provider.sort", "price", "throughput", "latency"),
];
