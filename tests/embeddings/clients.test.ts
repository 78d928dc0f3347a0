import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { OpenAIEmbeddings } from "@langchain/openai";
import { embed, embedMany } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { floatsOf } from "../support/embeddings.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let client: OpenAI;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const model = "sandbox/embed";
const TEXTS = ["The cat sits on the mat", "A treaty on tariffs was signed", "The cat sat on a mat"];

function near(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

describe("the official SDK", () => {
  test("EMB-01 embeddings.create returns numbers, although the SDK requests base64 by default", async () => {
    const list = await client.embeddings.create({ model, input: TEXTS });
    expect(list).toMatchObject({ object: "list", model });
    expect(list.data.map(({ index }) => index)).toEqual([0, 1, 2]);
    const [cat = [], treaty = [], other = []] = list.data.map(({ embedding }) => embedding);
    expect(cat).toHaveLength(256);
    expect(near(cat, cat)).toBeCloseTo(1, 5);
    expect(near(cat, other)).toBeGreaterThan(near(cat, treaty));
    expect(list.usage).toMatchObject({ prompt_tokens: 19, total_tokens: 19, currency: "EUR" });
  });

  test.each(["sandbox-us", "sandbox-de", "sandbox-fr"])(
    "EMB-01 %s returns the same vectors in either encoding, in any wire format",
    async (provider) => {
      const only = { provider: { only: [provider] } };
      const ask = (encoding_format: "float" | "base64") =>
        gateway.call(gateway.key, "/v1/embeddings", { body: { model, input: TEXTS, encoding_format, ...only } });
      const [floats, coded] = [await ask("float"), await ask("base64")];
      expect(floats.headers.get("x-svc-provider")).toBe(provider);
      const numbers = floats.body.data.map(({ embedding }: { embedding: number[] }) => embedding);
      expect(coded.body.data.map(({ embedding }: { embedding: string }) => floatsOf(embedding))).toEqual(numbers);
      const plain = await client.embeddings.create({ model, input: TEXTS });
      expect(plain.data.map(({ embedding }) => embedding)).toEqual(numbers);
    },
  );

  test("EMB-01 dimensions are honoured where supported, and only there", async () => {
    const short = await client.embeddings.create({ model, input: TEXTS, dimensions: 64 });
    expect(short.data.map(({ embedding }) => embedding.length)).toEqual([64, 64, 64]);
    const only = { provider: { only: ["sandbox-fr"] } };
    const ask = (dimensions: number) =>
      gateway.call(gateway.key, "/v1/embeddings", { body: { model, input: "x", dimensions, ...only } });
    // The default dimension need not be requested.
    expect((await ask(256)).body.data[0].embedding).toHaveLength(256);
    expect(await ask(64)).toMatchObject({ status: 403, body: { error: { code: "no_eligible_endpoint" } } });
  });

  test("EMB-01 token ids are equivalent to their text", async () => {
    const listed = await client.embeddings.create({ model, input: "hello world" });
    for (const input of [[15339, 1917], [[15339, 1917]]]) {
      const numbered = await client.embeddings.create({ model, input });
      expect(numbered.data).toEqual(listed.data);
    }
  });
});

test("EMB-01 LangChain's embeddings, of documents and of a query", async () => {
  const embeddings = new OpenAIEmbeddings({
    model,
    apiKey: gateway.key,
    configuration: { baseURL: `${gateway.url}/v1` },
    maxRetries: 0,
  });
  const [cat = [], treaty = []] = await embeddings.embedDocuments(TEXTS);
  const query = await embeddings.embedQuery("Where does the cat sit?");
  expect(near(query, cat)).toBeGreaterThan(near(query, treaty));
});

test("EMB-01 the Vercel AI SDK's embed and embedMany", async () => {
  const connection = { baseURL: `${gateway.url}/v1`, apiKey: gateway.key };
  const models = [
    createOpenAI(connection).embeddingModel(model),
    createOpenAICompatible({ name: "gateway", ...connection }).embeddingModel(model),
  ];
  for (const one of models) {
    const { embedding, usage } = await embed({ model: one, value: "hello", maxRetries: 0 });
    expect(embedding).toHaveLength(256);
    expect(usage.tokens).toBe(2);
    const many = await embedMany({ model: one, values: TEXTS, maxRetries: 0 });
    expect(many.embeddings).toHaveLength(3);
  }
});

test("EMB-01 MOD-01 the model is listed with its surface", async () => {
  const { body } = await gateway.call(gateway.key, "/v1/models");
  const row = body.data.find(({ id }: { id: string }) => id === model);
  expect(row).toMatchObject({ svc_surfaces: ["embeddings"] });
});
