import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Fault } from "../contract/faults.ts";
import { decodeWith, readBody, readJson, readOptionalBody, readQuery } from "./request-input.ts";

const Shape = z.strictObject({
  name: z.string(),
  size: z.int().min(1).optional(),
  mode: z.enum(["a", "b"]).optional(),
  inner: z.strictObject({ list: z.array(z.string()) }).optional(),
  either: z.union([z.string(), z.strictObject({ deep: z.strictObject({ n: z.number() }) })]).optional(),
});

function faultOf(run: () => unknown): Fault {
  try {
    run();
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  throw new Error("no fault was thrown");
}

const bodyOf = (text: string | Buffer) => ({ body: async () => Buffer.from(text) });

test("an unknown field is refused by its name, before a missing one", () => {
  const refused = faultOf(() => decodeWith(Shape, { size: 0, nmae: "x" }));
  expect([refused.code, refused.status, refused.param]).toEqual(["unsupported_parameter", 400, "nmae"]);
  expect(refused.message).toContain("nmae");
});

test("an unknown field inside an object is named with its path", () => {
  expect(faultOf(() => decodeWith(Shape, { name: "x", inner: { list: [], more: 1 } })).param).toBe("inner.more");
});

test("a missing field is reported as required, an invalid one by its path", () => {
  const missing = faultOf(() => decodeWith(Shape, {}));
  expect([missing.code, missing.param]).toEqual(["invalid_value", "name"]);
  expect(missing.message).toContain("required");
  const bad = faultOf(() => decodeWith(Shape, { name: "x", inner: { list: ["a", 5] } }));
  expect([bad.code, bad.param]).toEqual(["invalid_value", "inner.list.1"]);
  expect(faultOf(() => decodeWith(Shape, { name: "x", mode: "c" })).message).toContain('"a"|"b"');
});

test("in a union the deepest matching branch names the field", () => {
  expect(faultOf(() => decodeWith(Shape, { name: "x", either: { deep: { n: "1" } } })).param).toBe("either.deep.n");
  expect(faultOf(() => decodeWith(Shape, { name: "x", either: 5 })).param).toBe("either");
});

const Words = z.strictObject({
  n: z.number().min(1).max(9).optional(),
  over: z.number().gt(0).optional(),
  whole: z.int().optional(),
  text: z.string().min(1).max(3).optional(),
  list: z.array(z.string()).min(2).optional(),
  map: z.record(z.string(), z.number()).optional(),
  either: z.union([z.string(), z.array(z.string()).min(1)]).optional(),
  choice: z.union([z.enum(["auto", "none"]), z.strictObject({ type: z.literal("one") })]).optional(),
  own: z.union([z.string(), z.number()], { error: "must be a name or a number" }).optional(),
  message: z
    .discriminatedUnion("role", [
      z.object({ role: z.literal("user"), content: z.union([z.string(), z.array(z.string())]) }),
      z.object({ role: z.literal("tool") }),
    ])
    .optional(),
});

test.each<[string, unknown, string]>([
  ["n", { n: 0 }, "must be at least 1"],
  ["n", { n: 10 }, "must be at most 9"],
  ["over", { over: 0 }, "must be more than 0"],
  ["whole", { whole: 1.5 }, "expected integer, received number"],
  ["text", { text: "" }, "must have at least 1 character"],
  ["text", { text: "long" }, "must have at most 3 characters"],
  ["list", { list: [] }, "must have at least 2 items"],
  ["map", { map: [] }, "expected object, received array"],
  ["either", { either: null }, "expected string or array, received null"],
  ["either", { either: [] }, "must have at least 1 item"],
  ["choice", { choice: "some" }, 'expected one of "auto"|"none", or object'],
  ["own", { own: true }, "must be a name or a number"],
  ["message.role", { message: { role: "robot" } }, 'expected one of "user"|"tool"'],
  ["message.role", { message: {} }, 'is required: expected one of "user"|"tool"'],
  ["message.content", { message: { role: "user" } }, "is required: expected string or array"],
])("the issue with %s of %j is described plainly: %s", (param, value, problem) => {
  const refused = faultOf(() => decodeWith(Words, value));
  expect([refused.param, refused.message]).toEqual([
    param,
    `Field "${param}"${/^(?:must|is) /.test(problem) ? "" : ":"} ${problem}.`,
  ]);
});

test("messages never quote the caller's values", () => {
  const secret = "sk_svc_live_do-not-quote";
  expect(faultOf(() => decodeWith(Shape, { name: "x", mode: secret })).message).not.toContain(secret);
  expect(faultOf(() => decodeWith(Shape, { name: "x", size: secret })).message).not.toContain(secret);
});

test("a body that is not one JSON object is invalid_json", async () => {
  for (const text of ["", "[]", "null", '{"a":1', '{"a":1,"a":2}', '{"__proto__":{}}', Buffer.from([0x7b, 0xff])])
    await expect(readJson(bodyOf(text))).rejects.toMatchObject({ code: "invalid_json", status: 400 });
});

test("the text of the body is kept with its value", async () => {
  const read = await readJson(bodyOf('{ "name" : "x" }'));
  expect(read.text).toBe('{ "name" : "x" }');
  expect(read.value).toEqual({ name: "x" });
  expect(await readBody(bodyOf('{"name":"x"}'), Shape)).toEqual({ name: "x" });
});

test("an empty body counts as {} only when all fields are optional", async () => {
  const Loose = z.strictObject({ grace: z.string().optional() });
  expect(await readOptionalBody(bodyOf(""), Loose)).toEqual({});
  await expect(readOptionalBody(bodyOf("x"), Loose)).rejects.toMatchObject({ code: "invalid_json" });
});

test("a query with a repeated or unknown parameter is refused", () => {
  const Query = z.strictObject({ limit: z.coerce.number().int().min(1).max(10).default(5), q: z.string().optional() });
  const query = (text: string) => ({ query: new URLSearchParams(text) });
  expect(readQuery(query(""), Query)).toEqual({ limit: 5 });
  expect(readQuery(query("limit=7&q=7"), Query)).toEqual({ limit: 7, q: "7" });
  expect(faultOf(() => readQuery(query("limit=1&limit=2"), Query)).param).toBe("limit");
  expect(faultOf(() => readQuery(query("limit=99"), Query)).param).toBe("limit");
  expect(faultOf(() => readQuery(query("nope=1"), Query)).code).toBe("unsupported_parameter");
  expect(faultOf(() => readQuery(query("__proto__=1"), Query)).code).toBe("unsupported_parameter");
});

describe("long lists", () => {
  const LENGTH = 100_000;
  let looked = 0;
  const list = z.object({
    list: z.array(
      z.custom((item) => {
        looked += 1;
        return item === "right";
      }, "is wrong"),
    ),
  });
  const decode = (items: readonly string[]) => {
    looked = 0;
    return decodeWith(list, { list: items });
  };

  test("GEN-06 a long list of invalid items is rejected by a sample that names one item", () => {
    const half = Array.from({ length: LENGTH }, (_, at) => (at < LENGTH / 2 ? "right" : "wrong"));
    expect(faultOf(() => decode(half))).toMatchObject({
      code: "invalid_value",
      param: expect.stringMatching(/^list\.[5-9]\d{4}$/),
    });
    expect(looked).toBeLessThan(LENGTH / 100);
  });

  test("GEN-06 one invalid item of a long list is named, and a valid list passes", () => {
    const right = Array<string>(LENGTH).fill("right");
    expect(faultOf(() => decode([...right, "wrong"]))).toMatchObject({
      code: "invalid_value",
      param: `list.${LENGTH}`,
    });
    expect(decode(right).list).toHaveLength(LENGTH);
  });
});
