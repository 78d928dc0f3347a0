import fc from "fast-check";
import { expect, test } from "vitest";
import { EventLoopTurns, type TurnWork } from "./event-loop-turns.ts";
import { patchMembers } from "./json.ts";
import { JsonInTurns } from "./json-in-turns.ts";
import { parsePreciseJson } from "./lossless-json.ts";

const LIMIT: TurnWork = { chars: 65_536, values: 2_000 };
const LONG = "x".repeat(70_000);

function open() {
  const turns: TurnWork[] = [];
  return { turns, json: new JsonInTurns(new EventLoopTurns(LIMIT, (work) => turns.push(work))) };
}

test("SAFE-01 JSON of the gateway's own is parsed and written in turns as it is at once", async () => {
  const { json } = open();
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), fc.bigInt(), fc.boolean(), async (value, large, isLong) => {
      const text = `{"value":${JSON.stringify(value)},"large":${large},"pad":"${isLong ? LONG : ""}"}`;
      const parsed = await json.parse(text, "w", parsePreciseJson);
      expect(parsed).toEqual(parsePreciseJson(text));
      expect(await json.stringify(parsed, "w")).toBe(JSON.stringify(parsePreciseJson(text)));
    }),
    { numRuns: 60 },
  );
});

test("SAFE-01 no turn parses or writes more than its limit, and short texts take none", async () => {
  const { turns, json } = open();
  const short = json.parse('{"a":1}', "w", JSON.parse);
  expect([short, json.stringify(short, "w"), turns]).toEqual([{ a: 1 }, '{"a":1}', []]);
  const text = JSON.stringify({ text: LONG, list: Array.from({ length: 20_000 }, (_, at) => ({ at })) });
  expect(await json.stringify(await json.parse(text, "w", JSON.parse), "w")).toBe(text);
  expect(turns.length).toBeGreaterThan(20);
  // The first step of a turn always fits: here the long string, which is decoded in one part.
  for (const { chars, values } of turns) expect([chars <= LONG.length, values <= LIMIT.values]).toEqual([true, true]);
});

test("SAFE-01 a long event is patched where its text says, also in an object within it", async () => {
  const { json } = open();
  const text = `{"type":"t","response":{"id":"r","x":"${LONG}","n":1.0},"n":2.0}`;
  const body = await json.body(text, "w");
  const response = "problem" in body ? undefined : body.nested?.get("response");
  if ("problem" in body || response === undefined) throw new Error("the event was not read");
  const patched = patchMembers(response, [{ key: "id", json: '"own"' }]);
  expect(patchMembers(body, [{ key: "response", json: patched }])).toBe(text.replace('"r"', '"own"'));
});

test.each([`{"a":"${LONG}"`, `{"a":"${LONG}",}`, `{"a":"${LONG}"}x`])(
  "SAFE-01 a long text that is not JSON is refused as JSON.parse refuses it: case %#",
  async (text) => {
    const { json } = open();
    const failure = await Promise.resolve(json.parse(text, "w", JSON.parse)).catch((error: unknown) => error);
    expect(failure instanceof SyntaxError).toBe(true);
    expect(await json.body(text, "w")).toHaveProperty("problem");
  },
);
