import fc from "fast-check";
import { expect, test } from "vitest";
import { EventLoopTurns, type TurnWork } from "./event-loop-turns.ts";
import { buildJsonInSlices } from "./json-sliced-build.ts";
import { JsonSpan } from "./json-span.ts";
import { type BulkValues, type JsonLimits, JsonStructureScanner, type ReadMember } from "./json-structure.ts";

const LIMITS: JsonLimits = { depthMax: 128, membersMax: 1_000_000, stringCharsMax: 10_000_000, readPartsMax: 6_000 };

function scanned(
  text: string,
  pieceChars: number,
  { limits = LIMITS, bulk, read }: { limits?: JsonLimits; bulk?: BulkValues; read?: ReadMember },
) {
  const scanner = new JsonStructureScanner(limits, { bulk, read });
  let problem: string | undefined;
  for (let at = 0; at < text.length && problem === undefined; at += pieceChars)
    problem = scanner.scan(text.slice(at, at + pieceChars));
  return { scanner, problem: problem ?? scanner.finish() };
}

async function built(text: string, { pieceChars = 16_384, bulk }: { pieceChars?: number; bulk?: BulkValues } = {}) {
  const turns: TurnWork[] = [];
  const work = new EventLoopTurns({ chars: 65_536, values: 32_000 }, (turn) => turns.push(turn)).begin("owner");
  const { scanner, problem } = scanned(text, pieceChars, bulk === undefined ? {} : { bulk });
  if (problem !== undefined) throw new SyntaxError(problem);
  const value = await buildJsonInSlices(text, scanner, work);
  work.end();
  return { value, turns, scanner };
}

/** Strings that make their containers long, with every kind of escape around the places where parts end. */
const longText = fc
  .tuple(
    fc.string({ unit: fc.constantFrom("a", '"', "\\", "\n", "é", "\u{1f600}", "u0041") }),
    fc.integer({ min: 1, max: 6_000 }),
  )
  .map(([unit, times]) => unit.repeat(times));
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<unknown>(null, true, -0.5, 1e21, "", "x"),
    longText,
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.dictionary(
      fc.string().filter((key) => key !== "__proto__"),
      tie("tree"),
      { maxKeys: 4 },
    ),
  ),
}));

test("SAFE-01 a document built in slices is the one that JSON.parse builds, wherever its pieces end", async () => {
  await fc.assert(
    fc.asyncProperty(tree, fc.integer({ min: 1, max: 40_000 }), fc.boolean(), async (value, pieceChars, isSpaced) => {
      const text = isSpaced ? JSON.stringify(value, undefined, 1) : JSON.stringify(value);
      expect((await built(text, { pieceChars })).value).toEqual(JSON.parse(text));
    }),
    { numRuns: 150 },
  );
});

const LONG = `"${"a".repeat(20_000)}"`;

test.each([
  `[${LONG},]`,
  `[,${LONG}]`,
  `[${LONG},,1]`,
  `[1,,${LONG}]`,
  `[${LONG} 1]`,
  `[1 ${LONG}]`,
  `{"a":${LONG},}`,
  `{"a":${LONG} "b":1}`,
  `{"a" ${LONG}}`,
  `{${LONG}}`,
  `{a:${LONG}}`,
  `[${LONG}}`,
  `{"a":${LONG}]`,
  `[${LONG}] 1`,
  `[${LONG}`,
  `[[${LONG},{]}`,
  `["${"\\x".repeat(20_000)}"]`,
  `[${LONG},tru]`,
  `[${LONG},01]`,
])("SAFE-01 what JSON.parse rejects is rejected in slices too: case %#", async (text) => {
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  const outcome = await built(text).catch((error: unknown) => error);
  expect(outcome instanceof SyntaxError).toBe(true);
});

test("SAFE-01 no turn reads more characters or values than its limit", async () => {
  const { turns, scanner } = await built(JSON.stringify(Array.from({ length: 300_000 }, (_, at) => ({ a: at % 10 }))));
  expect(scanner.members).toBe(600_000);
  expect(turns.length).toBeGreaterThan(18);
  expect(Math.max(...turns.map(({ values }) => values))).toBeLessThanOrEqual(32_000);
  expect(Math.max(...turns.map(({ chars }) => chars))).toBeLessThanOrEqual(65_536);
});

test.each([
  ["nested deeper than 128 levels", "[".repeat(129)],
  ["nested deeper than 128 levels", '{"a":'.repeat(129)],
  ["more than 100 members and items", JSON.stringify(Array.from({ length: 101 }, () => 1))],
  ["more than 100 members and items", JSON.stringify(Array.from({ length: 60 }, () => ({})))],
  ["a string longer than 1000 characters", JSON.stringify({ a: "b".repeat(1001) })],
  ["a string longer than 1000 characters", `{"a":"${"b".repeat(1001)}`],
  ["the key __proto__", '{"a":{"__proto__":1}}'],
  ["the key __proto__", '{"a":{"\\u005f_proto__":1}}'],
  ["a key longer than 65536 characters", `{"${"k".repeat(65_537)}":1}`],
  ["a number longer than 65536 characters", `[${"1".repeat(65_537)}]`],
  ["it ends inside a value", '{"a":"b'],
])("SAFE-01 a document is rejected while it arrives: %s", (problem, text) => {
  const isKey = problem.startsWith("a key");
  const limits = {
    depthMax: 128,
    membersMax: problem.startsWith("nested") ? 1_000 : 100,
    stringCharsMax: isKey ? 100_000 : 1000,
    readPartsMax: 6_000,
  };
  for (const pieceChars of [1, 7, 100_000]) expect(scanned(text, pieceChars, { limits }).problem).toBe(problem);
});

test("SAFE-01 log-probabilities are exempt from the member limit, checked, and kept as text", async () => {
  const logprobs = {
    content: Array.from({ length: 5_000 }, (_, at) => ({ token: `t${at}`, logprob: -at, bytes: [at] })),
  };
  const text = JSON.stringify({ choices: [{ message: { content: "hi" }, logprobs, finish_reason: "stop" }] });
  for (const pieceChars of [5, 16_384]) {
    const { value, scanner } = await built(text, { pieceChars, bulk: { members: ["logprobs"] } });
    expect(scanner.members).toBeLessThan(10);
    const span = new JsonSpan(JSON.stringify(logprobs), undefined);
    expect(value).toEqual({ choices: [{ message: { content: "hi" }, logprobs: span, finish_reason: "stop" }] });
  }
  const broken = text.replace('"t4000",', '"t4000"');
  await expect(built(broken, { bulk: { members: ["logprobs"] } })).rejects.toThrow(SyntaxError);
});

test("SAFE-01 vectors are exempt from the member limit and kept as text; a mixed list counts", async () => {
  const vector = Array.from({ length: 3_000 }, (_, at) => at / 7);
  const text = JSON.stringify({ data: [{ embedding: vector }, { embedding: [1, 2] }] });
  const { value, scanner } = await built(text, { bulk: "number-lists" });
  expect(value).toEqual({ data: [{ embedding: new JsonSpan(JSON.stringify(vector), 3_000) }, { embedding: [1, 2] }] });
  expect(scanner.members).toBeLessThan(10);
  const mixed = await built(JSON.stringify([...vector, "x"]), { bulk: "number-lists" });
  expect(mixed.scanner.members).toBeGreaterThan(3_000);
  expect(mixed.value).toEqual([...vector, "x"]);
  const infinite = await built(`[${vector.join(",")},1e39]`, { bulk: "number-lists" });
  expect(infinite.value).toMatchObject({ numbers: undefined });
});

test("SAFE-01 the parts of a reply are limited where its reader walks, and nowhere else", () => {
  const read = { member: "choices", levels: 4 };
  const many = (item: string) => `[${Array.from({ length: 6_001 }, () => item).join(",")}]`;
  const problemOf = (text: string) => scanned(text, 1_000, { read }).problem;
  expect(problemOf(`{"choices":${many("{}")}}`)).toBe("more than 6000 parts in its choices");
  expect(problemOf(`{"choices":[{"message":{"calls":${many("{}")}}}]}`)).toBeUndefined();
  expect(problemOf(`{"choices":[{"calls":${many("{}")}}]}`)).toBe("more than 6000 parts in its choices");
  expect(problemOf(`{"x":${many('{"choices":[]}')},"choices":[{}]}`)).toBeUndefined();
  expect(problemOf(`{"choices":1,"x":${many("{}")}}`)).toBeUndefined();
});
