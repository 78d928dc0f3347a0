import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  base64Of,
  type EmbeddingScene,
  floatsOf,
  type Host,
  openaiList,
  openEmbeddings,
  vectorOf,
} from "../support/embeddings.ts";
import { eventually } from "../support/eventually.ts";
import type { Json } from "../support/gateway.ts";
import { credentialOf } from "../support/scene.ts";
import type { ReplySource } from "../support/upstream.ts";

let scene: EmbeddingScene | undefined;
afterEach(async () => {
  await scene?.close();
  scene = undefined;
});

async function opened(
  facts: Host["facts"],
  more: Partial<Host> & { dimensions?: number } = {},
): Promise<EmbeddingScene> {
  const { dimensions, ...host } = more;
  scene = await openEmbeddings(
    { host: { facts, price: 0.1, ...host } },
    dimensions === undefined ? {} : { dimensions },
  );
  return scene;
}

const TEXTS = ["one", "two", "three"];
const VECTORS = TEXTS.map((text) => vectorOf(text));
const jsonOf = (value: unknown): Json => value;
const TOKEN_COUNT_HEADER = "x-amzn-bedrock-input-token-count";

type Case = {
  readonly slug: string;
  readonly facts: Host["facts"];
  readonly upstreamModel?: string;
  readonly answering: ReplySource;
  readonly path: string;
  /** The header with the credential, if it is not a bearer token. */
  readonly auth?: "x-goog-api-key";
  /** The bodies sent for the three texts, one per request. */
  readonly sent: readonly Json[];
  /** The tokens that the provider reported, if any. */
  readonly tokens: number | undefined;
};

const cohereAsk = { texts: TEXTS, input_type: "search_document", truncate: "NONE", output_dimension: 4 };
const novaAsk = (value: string) => ({
  schemaVersion: "nova-multimodal-embed-v1",
  taskType: "SINGLE_EMBEDDING",
  singleEmbeddingParams: {
    embeddingPurpose: "GENERIC_INDEX",
    embeddingDimension: 4,
    text: { truncationMode: "NONE", value },
  },
});

const CASES: readonly Case[] = [
  {
    slug: "plain",
    facts: { interface: "openai", dimensions: true },
    answering: openaiList((rows) => rows.toReversed()),
    path: "/v1/embeddings",
    sent: [{ model: "vectors-1", input: TEXTS, dimensions: 4, user: "someone" }],
    tokens: 30,
  },
  {
    slug: "coded",
    facts: { interface: "openai", dimensions: true, base64: true },
    answering: openaiList(),
    path: "/v1/embeddings",
    sent: [{ model: "vectors-1", input: TEXTS, encoding_format: "base64", dimensions: 4, user: "someone" }],
    tokens: 30,
  },
  {
    slug: "mistral",
    facts: { interface: "mistral", dimensions: true },
    answering: () => ({
      json: {
        id: "mistral-1",
        object: "list",
        data: VECTORS.map((embedding, index) => ({ object: "embedding", index, embedding })),
        usage: { prompt_tokens: 12, total_tokens: 12, completion_tokens: 0, prompt_audio_seconds: null },
      },
    }),
    path: "/v1/embeddings",
    sent: [{ model: "vectors-1", input: TEXTS, output_dimension: 4 }],
    tokens: 12,
  },
  {
    slug: "gemini",
    facts: { interface: "gemini", dimensions: true },
    answering: () => ({ json: { embeddings: VECTORS.map((values) => ({ values })) } }),
    path: "/v1/models/vectors-1:batchEmbedContents",
    auth: "x-goog-api-key",
    sent: [
      {
        requests: TEXTS.map((text) => ({
          model: "models/vectors-1",
          content: { parts: [{ text }] },
          outputDimensionality: 4,
        })),
      },
    ],
    tokens: undefined,
  },
  {
    slug: "vertex",
    facts: { interface: "vertex", dimensions: true },
    answering: ({ json }) => ({
      json: {
        predictions: jsonOf(json).instances.map(({ content }: Json) => ({
          embeddings: { values: vectorOf(content), statistics: { truncated: false, token_count: 3 } },
        })),
      },
    }),
    path: "/v1/models/vectors-1:predict",
    auth: "x-goog-api-key",
    sent: TEXTS.map((content) => ({
      instances: [{ content }],
      parameters: { autoTruncate: false, outputDimensionality: 4 },
    })),
    tokens: 9,
  },
  {
    slug: "cohere",
    facts: { interface: "cohere", dimensions: true },
    answering: () => ({
      json: { id: "co-1", embeddings: { float: VECTORS }, meta: { billed_units: { input_tokens: 5 } } },
    }),
    path: "/v1/embed",
    sent: [{ model: "vectors-1", embedding_types: ["float"], ...cohereAsk }],
    tokens: 5,
  },
  {
    slug: "bedrock-cohere-4",
    facts: { interface: "bedrock_cohere", dimensions: true },
    upstreamModel: "cohere.embed-v4:0",
    answering: () => ({
      json: { id: "b-1", embeddings: { float: VECTORS }, response_type: "embeddings_by_type" },
      headers: { [TOKEN_COUNT_HEADER]: "6" },
    }),
    path: "/v1/model/cohere.embed-v4%3A0/invoke",
    sent: [cohereAsk],
    tokens: 6,
  },
  {
    slug: "bedrock-cohere-3",
    facts: { interface: "bedrock_cohere", dimensions: true },
    answering: () => ({
      json: { id: "b-2", embeddings: VECTORS, response_type: "embeddings_floats" },
      headers: { [TOKEN_COUNT_HEADER]: "7" },
    }),
    path: "/v1/model/vectors-1/invoke",
    sent: [cohereAsk],
    tokens: 7,
  },
  {
    slug: "bedrock-titan",
    facts: { interface: "bedrock_titan", dimensions: true },
    answering: ({ json }) => ({
      json: { embedding: vectorOf(jsonOf(json).inputText), inputTextTokenCount: 4 },
    }),
    path: "/v1/model/vectors-1/invoke",
    sent: TEXTS.map((inputText) => ({ inputText, dimensions: 4 })),
    tokens: 12,
  },
  {
    slug: "bedrock-nova",
    facts: { interface: "bedrock_nova", dimensions: true },
    answering: ({ json }) => ({
      json: {
        embeddings: [{ embeddingType: "TEXT", embedding: vectorOf(jsonOf(json).singleEmbeddingParams.text.value) }],
      },
      headers: { [TOKEN_COUNT_HEADER]: "2" },
    }),
    path: "/v1/model/vectors-1/invoke",
    sent: TEXTS.map(novaAsk),
    tokens: 6,
  },
];

describe("every wire format", () => {
  let all: EmbeddingScene;
  beforeAll(async () => {
    const hosts = CASES.map(({ slug, facts, upstreamModel = "vectors-1" }) => [
      slug,
      { facts, upstreamModel, price: 0.1 },
    ]);
    all = await openEmbeddings(Object.fromEntries(hosts));
    for (const { slug, answering } of CASES) all.at(slug).always(answering);
  });
  afterAll(() => all.close());

  test.each(CASES)(
    "EMB-01 $slug is called in its own format and answers in OpenAI's, as base64 and exactly billed",
    async ({ slug, path, auth, sent, tokens }) => {
      const only = { provider: { only: [slug] } };
      const ask = { input: TEXTS, dimensions: 4, encoding_format: "base64", user: "someone", ...only };
      const answer = await all.embed(ask);
      expect(answer.status).toBe(200);
      expect(answer.body.data).toEqual(
        VECTORS.map((vector, index) => ({ object: "embedding", index, embedding: base64Of(vector) })),
      );
      const { requests } = all.at(slug);
      const bodies = requests.map(({ json }) => json);
      expect(bodies).toHaveLength(sent.length);
      for (const body of sent) expect(bodies).toContainEqual(body);
      const key = credentialOf(slug);
      const credential = auth === undefined ? { authorization: `Bearer ${key}` } : { [auth]: key };
      for (const request of requests) {
        expect(request).toMatchObject({ method: "POST", path });
        expect(request.headers).toMatchObject({ accept: "application/json", ...credential });
      }
      // Two short words are estimated at one token each, the longer at two.
      const counted = tokens ?? 4;
      expect(answer.body).toMatchObject({
        object: "list",
        model: "lab/vectors",
        usage: { prompt_tokens: counted, total_tokens: counted, cost: counted * 1e-7, currency: "EUR" },
      });
      expect(await all.rowOf(answer)).toMatchObject({
        surface: "embeddings",
        status: 200,
        usage: { estimated: tokens === undefined, input_tokens: counted, output_tokens: 0 },
        detail: { inputs: 3, dimensions: 4 },
      });
      const floats = await all.embed({ input: TEXTS, dimensions: 4, ...only });
      expect(floats.body.data.map(({ embedding }: Json) => embedding)).toEqual(VECTORS);
    },
  );
});

test("EMB-01 token ids are forwarded where supported, and sent as text elsewhere", async () => {
  scene = await openEmbeddings({
    numbers: { facts: { interface: "openai", tokens: true }, price: 0.1 },
    words: { facts: { interface: "openai" }, price: 0.2 },
  });
  const { embed, at } = scene;
  for (const slug of ["numbers", "words"]) at(slug).always(openaiList());
  const both = [[15339, 1917], [9906]];
  await embed({ input: both });
  await embed({ input: both, provider: { only: ["words"] } });
  await embed({ input: both[0], provider: { only: ["words"] } });
  expect(at("numbers").requests.map(({ json }) => jsonOf(json).input)).toEqual([both]);
  expect(at("words").requests.map(({ json }) => jsonOf(json).input)).toEqual([["hello world", "Hello"], "hello world"]);
});

test("EMB-01 shortened vectors are normalized if needed, others stay unchanged", async () => {
  const { embed, at } = await opened({ interface: "gemini", dimensions: true, normalize: true });
  at("host").always({ json: { embeddings: [{ values: [3, 4] }] } });
  expect((await embed({ input: "a", dimensions: 2 })).body.data[0].embedding).toEqual([0.6, 0.8]);
  const coded = await embed({ input: "a", dimensions: 2, encoding_format: "base64" });
  expect(floatsOf(coded.body.data[0].embedding)).toEqual([Math.fround(0.6), Math.fround(0.8)]);
  expect((await embed({ input: "a" })).body.data[0].embedding).toEqual([3, 4]);
});

describe("batches", () => {
  test("EMB-01 more inputs than an endpoint takes are sent in several requests and returned in order", async () => {
    const { embed, at, rowOf } = await opened({ interface: "openai", batch_max: 10 });
    const host = at("host");
    host.always(openaiList((rows) => rows.toReversed()));
    const input = Array.from({ length: 95 }, (_, position) => `text ${position}`);
    const answer = await embed({ input });
    expect(answer.body.data.map(({ embedding }: Json) => embedding)).toEqual(input.map((text) => vectorOf(text)));
    expect(answer.body.data.map(({ index }: Json) => index)).toEqual(input.map((_, position) => position));
    expect(host.requests.map(({ json }) => jsonOf(json).input.length).toSorted((a, b) => a - b)).toEqual([
      5, 10, 10, 10, 10, 10, 10, 10, 10, 10,
    ]);
    expect(answer.body.usage).toMatchObject({ prompt_tokens: 950, cost: 0.000095 });
    expect(await rowOf(answer)).toMatchObject({ usage: { input_tokens: 950, estimated: false }, attempts: [{}] });
  });

  test("EMB-01 inputs with too many tokens together are sent in several requests", async () => {
    const { embed, at } = await opened({ interface: "openai", batch_tokens_max: 100 });
    at("host").always(openaiList());
    // About forty tokens each, and an estimate may be wrong by half.
    await embed({ input: ["a", "b", "c"].map((letter) => letter.repeat(160)) });
    expect(at("host").requests).toHaveLength(3);
  });

  test("EMB-01 batches are small enough that no response exceeds the size limit", async () => {
    const { embed, at } = await opened({ interface: "openai", dimensions: true });
    at("host").always(openaiList());
    const input = Array.from({ length: 20 }, (_, position) => `text ${position}`);
    const answer = await embed({ input, dimensions: 32_768 });
    expect(answer.body.data.map(({ embedding }: Json) => embedding[0])).toEqual(input.map((text) => vectorOf(text)[0]));
    expect(at("host").requests.map(({ json }) => [jsonOf(json).input].flat().length)).toEqual([10, 10]);
  });

  test("EMB-01 usage is estimated and marked as estimated if one batch reports none", async () => {
    const { embed, at, rowOf } = await opened({ interface: "openai", batch_max: 1 });
    at("host").next(openaiList(undefined, null));
    at("host").always(openaiList());
    const answer = await embed({ input: ["abcd", "efgh"] });
    expect(answer.body.usage.prompt_tokens).toBe(2);
    expect(await rowOf(answer)).toMatchObject({ usage: { estimated: true } });
  });

  test("EMB-01 one failed batch sends all inputs to the next endpoint and is not charged", async () => {
    scene = await openEmbeddings({
      first: { facts: { interface: "openai", batch_max: 2 }, price: 0.1 },
      second: { facts: { interface: "gemini" }, price: 0.2 },
    });
    const { embed, at, rowOf } = scene;
    at("first").next(openaiList());
    at("first").next({ status: 503, json: { error: { message: "overloaded" } } });
    at("first").always(openaiList());
    at("second").always({ json: { embeddings: [...TEXTS, "four"].map((text) => ({ values: vectorOf(text) })) } });
    const answer = await embed({ input: [...TEXTS, "four"] });
    expect(answer.body.data).toHaveLength(4);
    expect(answer.headers.get("x-svc-provider")).toBe("second");
    const row = await rowOf(answer);
    expect(row.attempts).toMatchObject([
      { provider: "first", outcome: "next" },
      { provider: "second", outcome: "served" },
    ]);
    // Estimated, at the price of the serving endpoint.
    expect(answer.body.usage).toMatchObject({ prompt_tokens: 5, cost: 0.000001 });
  });

  test("EMB-01 a client that disconnects ends every batch and pays nothing", async () => {
    const { gateway, tenant, at } = await opened({ interface: "openai", batch_max: 1 });
    at("host").always({ end: { is: "stall", after: "before_headers" } });
    const disconnect = new AbortController();
    const call = gateway.call(tenant.key, "/v1/embeddings", {
      body: { model: "lab/vectors", input: Array.from({ length: 20 }, () => "x") },
      signal: disconnect.signal,
    });
    await at("host").arrived(8);
    disconnect.abort();
    await expect(call).rejects.toThrow();
    const ends = await Promise.all(at("host").requests.map(({ over }) => over));
    expect(ends).toEqual(Array.from({ length: 8 }, () => "aborted"));
    await eventually(async () => {
      const wallet = await gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`);
      expect(wallet).toMatchObject({ balance: "100.00", held: "0.00" });
    });
  });
});

test("EMB-01 with a workspace's own key nothing is charged, and the gateway's credential is not sent", async () => {
  const { gateway, tenant, embed, at, rowOf } = await opened({ interface: "openai" });
  at("host").always(openaiList());
  const own = { key: "own-canary-81f3b0c2d4e5", skip_test: true };
  await gateway.manage("PUT", `/workspaces/${tenant.slug}/providers/host`, own);
  const answer = await embed({ input: TEXTS });
  expect(at("host").requests.at(-1)?.headers.authorization).toBe("Bearer own-canary-81f3b0c2d4e5");
  expect(answer.body.usage).toEqual({ prompt_tokens: 30, total_tokens: 30 });
  expect(await rowOf(answer)).toMatchObject({ own_key: true, cost: null });
  expect(await gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`)).toMatchObject({ balance: "100.00" });
});
