import { afterAll, beforeAll, expect, test } from "vitest";
import { EmbeddingsRequest } from "../../src/contract/schemas/embeddings.ts";
import { EMBEDDING_HOSTS, embeddingHosts } from "../support/embedding-hosts.ts";
import { type EmbeddingScene, openEmbeddings } from "../support/embeddings.ts";
import { casesOf } from "../support/field-cases.ts";
import { exchangeOf, type FieldTarget, fieldResults, figuresOf, silentFields } from "../support/field-outcomes.ts";

/** Values that a schema cannot tell. */
const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  input: ["marked", "changed", ["marked"], ["marked", "changed"], [15339], [[15339], [9906]]],
  dimensions: [4, 5],
};

let scene: EmbeddingScene;
beforeAll(async () => {
  scene = await openEmbeddings(embeddingHosts());
  for (const { slug, answer } of EMBEDDING_HOSTS) scene.at(slug).always(answer);
});
afterAll(() => scene.close());

const TARGETS = EMBEDDING_HOSTS.map(
  ({ slug, format }): FieldTarget => ({
    surface: "embeddings",
    adapter: slug,
    format,
    complete: (body) => ({ ...body, model: `lab/${slug}` }),
    async exchange(body) {
      const { requests } = scene.at(slug);
      const before = requests.length;
      const called = await scene.embed(body);
      return exchangeOf(
        called,
        JSON.stringify([requests.slice(before).map(({ path, json }) => [path, json]), called.text]),
      );
    },
  }),
);

test("PARAM-07 EMB-01 no field of an embeddings request is dropped silently on any adapter", async ({ annotate }) => {
  const cases = casesOf(EmbeddingsRequest, (path) => SAMPLES[path]).filter(({ path }) => path !== "model");
  const results = await Promise.all(TARGETS.map((target) => fieldResults(target, cases)));
  await annotate(`embeddings: ${figuresOf(results.flat())}`);
  expect(silentFields(results.flat())).toEqual([]);
});
