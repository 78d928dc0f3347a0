import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.ts";

/** The official client against simulated providers, configured only with the gateway's URL and a key. */
type Options = { readonly token: string; readonly environment: string; readonly maxRetries?: number };
type Request = {
  readonly model: string;
  readonly query: string;
  readonly documents: readonly (string | { readonly text: string })[];
  readonly topN?: number;
  readonly returnDocuments?: boolean;
};
type Reply = {
  readonly id?: string;
  readonly results: readonly {
    readonly index: number;
    readonly relevanceScore: number;
    readonly document?: { readonly text: string };
  }[];
  readonly meta?: { readonly billedUnits?: { readonly searchUnits?: number } };
};
type Client = new (options: Options) => { rerank(request: Request): Promise<Reply> };
type ClientPackage = {
  readonly CohereClient: Client;
  readonly CohereClientV2: Client;
  readonly CohereError: new () => Error;
};
/** Only what is used of it is declared: its own types are many times larger than this test. */
const PACKAGE: string = "cohere-ai";
const { CohereClient, CohereClientV2, CohereError }: ClientPackage = await import(PACKAGE);

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
});
afterAll(() => gateway?.close());

const model = "sandbox/rerank";
const query = "Which animal barks?";
const documents = ["Cats purr when they are content.", "A dog barks at strangers.", "Fish are silent."];

describe("Cohere's client", () => {
  test("RANK-01 rerank of the second version: the best document first, and the search units", async () => {
    const client = new CohereClientV2({ token: gateway.key, environment: gateway.url });
    const { results, meta, id } = await client.rerank({ model, query, documents, topN: 2 });
    expect(results.map(({ index }) => index)[0]).toBe(1);
    expect(results).toHaveLength(2);
    expect(results[0]?.relevanceScore).toBeGreaterThan(results[1]?.relevanceScore ?? 1);
    expect(meta?.billedUnits?.searchUnits ?? 1).toBe(1);
    expect(id).toMatch(/^req_/);
  });

  test("RANK-01 rerank of the first version returns documents, also objects", async () => {
    const client = new CohereClient({ token: gateway.key, environment: gateway.url });
    const { results } = await client.rerank({
      model,
      query,
      documents: documents.map((text) => ({ text })),
      returnDocuments: true,
      topN: 1,
    });
    expect(results).toMatchObject([{ index: 1, document: { text: documents[1] } }]);
  });

  test("RANK-01 errors are the client's own, with the gateway's status and message", async () => {
    const client = new CohereClientV2({ token: "sk_svc_test_wrong", environment: gateway.url, maxRetries: 0 });
    const error = await client.rerank({ model, query, documents }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CohereError);
    expect(error).toMatchObject({ statusCode: 401 });
  });
});

test.each(["sandbox-us", "sandbox-de", "sandbox-fr"])(
  "RANK-01 %s ranks alike in its own wire format",
  async (provider) => {
    const body = { model, query, documents, top_n: 2, return_documents: true, provider: { only: [provider] } };
    const { status, body: answer, headers } = await gateway.call(gateway.key, "/v1/rerank", { body });
    expect([status, headers.get("x-svc-provider")]).toEqual([200, provider]);
    expect(answer.results[0]).toMatchObject({ index: 1, document: { text: documents[1] } });
    expect(answer.usage.cost).toBeGreaterThan(0);
    const units = answer.meta.billed_units?.search_units;
    expect([units, answer.usage.total_tokens > 0]).toEqual(provider === "sandbox-us" ? [1, false] : [undefined, true]);
  },
);

test("RANK-01 MOD-01 the model list names the surface and the capability", async () => {
  const { body } = await gateway.call(gateway.key, `/v1/models/${model}`);
  expect(body).toMatchObject({ svc_surfaces: ["rerank"], svc_capabilities: ["reranking"] });
});
