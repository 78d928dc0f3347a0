import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EmbeddingScene, type Host, openEmbeddings } from "../support/embeddings.ts";
import type { Json } from "../support/gateway.ts";
import { loadExchange, scriptOf } from "../support/replay.ts";

const jsonOf = (value: unknown): Json => value;

type Recording = {
  readonly name: string;
  readonly slug: string;
  readonly host: Omit<Host, "price">;
  /** The recorded request as a caller of this surface would send it, and what its client sent in addition. */
  readonly toRequest: (sent: Json) => Json;
  readonly without: (sent: Json) => Json;
  readonly vectors: (answer: Json) => number[][];
  readonly tokens: number | undefined;
};

const RECORDINGS: readonly Recording[] = [
  {
    name: "openai-float-dims",
    slug: "openai-like",
    host: { facts: { interface: "openai", dimensions: true, base64: true }, upstreamModel: "text-embedding-3-small" },
    toRequest: ({ input, dimensions }) => ({ input, dimensions }),
    without: (sent) => sent,
    vectors: ({ data }) => data.map(({ embedding }: Json) => embedding),
    tokens: 7,
  },
  {
    name: "mistral",
    slug: "mistral-like",
    host: { facts: { interface: "mistral" }, upstreamModel: "mistral-embed" },
    toRequest: ({ input }) => ({ input }),
    // A single text becomes a list of one.
    without: ({ input, ...sent }) => ({ ...sent, input: [input].flat() }),
    vectors: ({ data }) => data.map(({ embedding }: Json) => embedding),
    tokens: 10,
  },
  {
    name: "gemini-dims",
    slug: "gemini-like",
    host: { facts: { interface: "gemini", dimensions: true }, upstreamModel: "gemini-embedding-2-preview" },
    toRequest: ({ requests: [one] }) => ({ input: one.content.parts[0].text, dimensions: one.outputDimensionality }),
    // Callers of this surface cannot state a task type.
    without: ({ requests }) => ({ requests: requests.map(({ taskType: _taskType, ...one }: Json) => one) }),
    vectors: ({ embeddings }) => embeddings.map(({ values }: Json) => values),
    tokens: undefined,
  },
  {
    name: "bedrock-cohere-v4",
    slug: "bedrock-like",
    host: { facts: { interface: "bedrock_cohere", dimensions: true }, upstreamModel: "cohere.embed-v4:0" },
    toRequest: ({ texts, output_dimension: dimensions }) => ({ input: texts, dimensions }),
    // Documents and queries are requested alike.
    without: (sent) => ({ ...sent, input_type: "search_document" }),
    vectors: ({ embeddings }) => embeddings.float,
    tokens: 3,
  },
];

describe("recorded traffic", () => {
  let scene: EmbeddingScene;
  beforeAll(async () => {
    const hosts = RECORDINGS.map(({ slug, host }) => [slug, { ...host, price: 0.1 }]);
    scene = await openEmbeddings(Object.fromEntries(hosts));
  });
  afterAll(() => scene.close());

  test.each(RECORDINGS)("EMB-01 $name: the same request, and its reply for the caller", async (recording) => {
    const { name, slug, toRequest, without, vectors, tokens } = recording;
    const { interactions } = loadExchange(`embeddings/${name}`);
    expect(interactions.length).toBeGreaterThan(0);
    for (const interaction of interactions) {
      const { request, response, url } = interaction;
      const upstream = scene.at(slug);
      upstream.next(scriptOf(interaction));
      const answer = await scene.embed({ ...toRequest(request.json), provider: { only: [slug] } });
      expect(answer.status).toBe(200);
      const received = upstream.requests.at(-1);
      expect(received?.json).toEqual(without(request.json));
      expect(new URL(url).pathname.endsWith(received?.path.replace("/v1", "") ?? "-")).toBe(true);
      const given = vectors(jsonOf(JSON.parse(response.body.toString())));
      expect(answer.body.data.map(({ embedding }: Json) => embedding)).toEqual(given);
      if (tokens !== undefined) expect(answer.body.usage).toMatchObject({ prompt_tokens: tokens, cost: tokens * 1e-7 });
      expect(await scene.rowOf(answer)).toMatchObject({ usage: { estimated: tokens === undefined } });
    }
  });
});
