import { afterAll, beforeAll, expect, test } from "vitest";
import { UPSTREAM_ADAPTERS } from "../../src/io/upstream/upstream-adapters.ts";
import { EMBEDDING_HOSTS, type EmbeddingHost, embeddingHosts } from "../support/embedding-hosts.ts";
import { type EmbeddingScene, openEmbeddings } from "../support/embeddings.ts";
import type { Json } from "../support/gateway.ts";
import { EMBEDDING_TYPES } from "../support/provider-types.ts";
import { audit, isExemptMember, newFigures } from "../support/reply-audit.ts";
import { merged, replyCases } from "../support/reply-cases.ts";
import { TypeDeclarations } from "../support/type-schemas.ts";
import type { Script } from "../support/upstream.ts";

const TYPES = new TypeDeclarations([EMBEDDING_TYPES]);
const TYPE_OF: Readonly<Record<EmbeddingHost["format"], string>> = {
  openai: "CompatibleEmbeddings",
  mistral: "CompatibleEmbeddings",
  gemini: "GeminiEmbeddings",
  vertex: "VertexPredictions",
  cohere: "CohereEmbeddings",
  bedrock_cohere: "CohereEmbeddings",
  bedrock_titan: "TitanEmbedding",
  bedrock_nova: "NovaEmbeddings",
};
/** In the header of the provider's response, or rejected unless it is the position. */
const NOT_SHOWN = /billed_units\.input_tokens$|\.index$/;

let scene: EmbeddingScene;
beforeAll(async () => {
  scene = await openEmbeddings(embeddingHosts());
});
afterAll(() => scene.close());

test.for(EMBEDDING_HOSTS)(
  "PARAM-07 HDR-20 EMB-01 every member of a reply of $slug is carried or named as omitted",
  async ({ slug, format, answer }, { annotate }) => {
    const rule = UPSTREAM_ADAPTERS.embeddings[format].reply;
    const figures = newFigures();
    for (const one of replyCases(TYPES, TYPE_OF[format], isExemptMember(rule))) {
      scene.at(slug).next((received) => {
        const script: Script = typeof answer === "function" ? answer(received) : answer;
        return { ...script, json: merged(script.json, one.value) };
      });
      const { status, headers, text } = await scene.embed({ model: `lab/${slug}`, input: "Hello" });
      expect([status, text]).toEqual([200, text]);
      const omitted = headers.get("x-svc-omitted")?.split(",") ?? [];
      const leaves = one.leaves.filter(({ path }) => !NOT_SHOWN.test(path));
      audit(rule, { ...one, leaves }, { status, text, omitted, isVerbatim: false }, figures);
    }
    await annotate(`${slug}: ${figures.carried} carried, ${figures.omitted} named, ${figures.exempt} exempt`);
    expect(figures.silent).toEqual([]);
  },
);

test("PARAM-07 EMB-01 vectors without more to report have no header, and batches report once", async () => {
  const { answer } = EMBEDDING_HOSTS.find(({ slug }) => slug === "vertex") ?? { answer: {} };
  const vertex = scene.at("vertex");
  vertex.always(answer);
  const plain = await scene.embed({ model: "lab/vertex", input: ["a", "b"] });
  expect([plain.status, plain.headers.has("x-svc-omitted")]).toEqual([200, false]);
  vertex.always((received) => {
    const script: Script = typeof answer === "function" ? answer(received) : answer;
    const { predictions }: Json = script.json;
    predictions[0].embeddings.statistics.truncated = true;
    return { json: { predictions } };
  });
  const cut = await scene.embed({ model: "lab/vertex", input: ["a", "b"] });
  expect(cut.headers.get("x-svc-omitted")).toBe("predictions[].embeddings.statistics.truncated");
  expect(await scene.rowOf(cut)).toMatchObject({ omitted: ["predictions[].embeddings.statistics.truncated"] });
});
