import { afterAll, beforeAll, expect, test } from "vitest";
import { RerankRequest } from "../../src/contract/schemas/rerank.ts";
import { casesOf } from "../support/field-cases.ts";
import { exchangeOf, type FieldTarget, fieldResults, figuresOf, silentFields } from "../support/field-outcomes.ts";
import { lettersRanked, openRerank, type RerankScene } from "../support/rerank.ts";

/** Values that a schema cannot tell. */
const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  query: ["marked", "changed"],
  documents: [
    [
      { text: "marked", title: "a longer name" },
      { text: "some", title: "b" },
    ],
    ["marked", "changed"],
    [{ text: "marked" }],
    [{ text: "changed words" }],
  ],
  top_n: [1],
  rank_fields: [["title"]],
  return_documents: [true],
};
const FORMATS = ["cohere", "bedrock_cohere", "jina", "voyage", "vllm", "tei"] as const;

let scene: RerankScene;
beforeAll(async () => {
  scene = await openRerank(
    Object.fromEntries(
      FORMATS.map((format) => [
        format.replace("_", "-"),
        { facts: { interface: format }, price: { input_per_1m_tokens: 1 }, model: `lab/${format}` },
      ]),
    ),
  );
  for (const format of FORMATS) scene.at(format.replace("_", "-")).always(lettersRanked(format));
});
afterAll(() => scene.close());

const TARGETS = FORMATS.map((format): FieldTarget => {
  const slug = format.replace("_", "-");
  return {
    surface: "rerank",
    adapter: slug,
    format,
    complete: (body) => ({ ...body, model: `lab/${format}` }),
    async exchange(body) {
      const { requests } = scene.at(slug);
      const before = requests.length;
      const called = await scene.rank(body);
      const sent = requests.slice(before).map(({ path, json }) => [path, json]);
      return exchangeOf(called, JSON.stringify([sent, called.text.replaceAll(/req_\w+/g, "")]));
    },
  };
});

test("PARAM-07 RANK-01 no field of a rerank request is dropped silently on any adapter", async ({ annotate }) => {
  const cases = casesOf(RerankRequest, (path) => SAMPLES[path]).filter(
    ({ path }) => path !== "model" && !path.startsWith("provider"),
  );
  const results = await Promise.all(TARGETS.map((target) => fieldResults(target, cases)));
  await annotate(`rerank: ${figuresOf(results.flat())}`);
  expect(silentFields(results.flat())).toEqual([]);
});
