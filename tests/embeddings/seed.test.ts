import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openaiList, vectorOf } from "../support/embeddings.ts";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { SEED_CATALOGUE } from "../support/recordings.ts";
import { connectedTo } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

/** Providers of embeddings, and a priced model of each. */
const SERVED: readonly (readonly [string, string])[] = [
  ["openai", "openai/text-embedding-3-small"],
  ["mistral", "mistral/mistral-embed"],
  ["google-ai-studio", "google/gemini-embedding-001"],
  ["cohere", "cohere/embed-v4.0"],
  ["nebius", "alibaba/qwen3-embedding-8b"],
  ["scaleway", "baai/bge-multilingual-gemma2"],
  ["ovhcloud", "baai/bge-m3"],
  ["stackit", "microsoft/e5-mistral-7b-instruct"],
  ["regolo", "alibaba/qwen3-embedding-8b"],
  ["evroc", "microsoft/multilingual-e5-large-instruct"],
];
const FOLDERS = [["the shipped files", undefined] as const, ["seven files", SEED_CATALOGUE] as const];

describe.each(FOLDERS)("%s", (_name, folder) => {
  let gateway: TestGateway;
  const upstreams = new Map<string, Upstream>();
  beforeAll(async () => {
    for (const [provider] of SERVED) upstreams.set(provider, await startUpstream());
    gateway = await startGateway({
      env: {
        ...connectedTo(upstreams),
        ...(folder === undefined ? {} : { GATEWAY_CATALOGUE_DIR: folder }),
        GATEWAY_SANDBOX: "off",
        GATEWAY_RPM_IP: "0",
      },
    });
  });
  afterAll(async () => {
    await gateway.close();
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
  });

  test.each(SERVED)("EMB-01 %s is called for %s", async (provider, model) => {
    const upstream = upstreams.get(provider);
    const values = vectorOf("hello");
    upstream?.always((received) => {
      if (received.path.endsWith("/embed")) return { json: { embeddings: { float: [values] } } };
      if (received.path.endsWith(":batchEmbedContents")) return { json: { embeddings: [{ values }] } };
      const answering = openaiList();
      return typeof answering === "function" ? answering(received) : answering;
    });
    const { key } = await gateway.tenant();
    const body = { model, input: "hello", provider: { only: [provider] } };
    const answer = await gateway.call(key, "/v1/embeddings", { body });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-svc-provider")).toBe(provider);
    expect(answer.body.data[0].embedding).toEqual(values);
    const { body: listed } = await gateway.call(key, "/v1/models");
    const row: Json = listed.data.find(({ id }: Json) => id === model);
    expect(row.svc_surfaces).toEqual(["embeddings"]);
  });
});
