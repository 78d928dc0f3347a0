import { expect, test } from "vitest";
import { EMBEDDING_INPUTS_MAX, EmbeddingsFields, EmbeddingsRequest } from "../../contract/schemas/embeddings.ts";
import { decodeInputs } from "./request.ts";

const many = <T>(length: number, one: T): T[] => Array.from({ length }, () => one);

/** Whether the gateway reads it: its fields by their schema, its inputs by hand. */
function isRead(body: object): boolean {
  const fields = EmbeddingsFields.safeParse(body);
  if (!fields.success) return false;
  try {
    decodeInputs(fields.data.input);
    return true;
  } catch {
    return false;
  }
}

const INPUTS: readonly [unknown, boolean][] = [
  ["a", true],
  [["a"], true],
  [["a", "b"], true],
  [[0], true],
  [[Number.MAX_SAFE_INTEGER], true],
  [[[1], [2, 3]], true],
  [many(EMBEDDING_INPUTS_MAX, "a"), true],
  [many(EMBEDDING_INPUTS_MAX, [1]), true],
  // One list of numbers is one input, however many they are.
  [many(EMBEDDING_INPUTS_MAX + 1, 1), true],
  [many(EMBEDDING_INPUTS_MAX + 1, "a"), false],
  [many(EMBEDDING_INPUTS_MAX + 1, [1]), false],
  [undefined, false],
  [null, false],
  ["", false],
  [[], false],
  [[[]], false],
  [[[[1]]], false],
  [["a", ""], false],
  [[[1], []], false],
  [["a", 1], false],
  [[1, "a"], false],
  [[[1], "a"], false],
  [["a", [1]], false],
  [[1, [1]], false],
  [[-1], false],
  [[1.5], false],
  [[Number.MAX_SAFE_INTEGER + 1], false],
  [[null], false],
  [[true], false],
  [7, false],
  [true, false],
  [{ text: "a" }, false],
];

const FIELDS: readonly [object, boolean][] = [
  [{ dimensions: 1 }, true],
  [{ dimensions: 65_536 }, true],
  [{ dimensions: 65_537 }, false],
  [{ dimensions: 0 }, false],
  [{ user: "u".repeat(512) }, true],
  [{ user: "u".repeat(513) }, false],
  [{ encoding_format: "base64" }, true],
  [{ encoding_format: "int8" }, false],
  [{ encoding_format: null, dimensions: null, user: null, provider: null }, true],
  [{ model: "" }, false],
  [{ stream: true }, false],
];

test("EMB-01 the published request schema and the decoder agree at every bound", () => {
  const bodies = [
    ...INPUTS.map(([input, isGood]) => [{ model: "a/b", input }, isGood] as const),
    ...FIELDS.map(([more, isGood]) => [{ model: "a/b", input: "a", ...more }, isGood] as const),
  ];
  for (const [body, isGood] of bodies) {
    const said = JSON.stringify(body).slice(0, 80);
    expect([said, isRead(body), EmbeddingsRequest.safeParse(body).success]).toEqual([said, isGood, isGood]);
  }
});
