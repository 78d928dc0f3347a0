import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startGateway, type Tenant } from "../support/gateway.ts";
import { lettersRanked, openRerank, type RerankHost, type RerankScene } from "../support/rerank.ts";
import type { Script } from "../support/upstream.ts";

const HOSTS = {
  first: { facts: { interface: "cohere", documents_max: 200 }, price: { per_1k_search_units: 2 } },
  second: { facts: { interface: "jina", documents_max: 500 }, price: { input_per_1m_tokens: 1000 } },
} satisfies Record<string, RerankHost>;

let scene: RerankScene;
beforeAll(async () => {
  scene = await openRerank(HOSTS);
});
afterAll(() => scene.close());

const QUERY = "which one is longest";
const BODY = { query: QUERY, documents: ["aa", "aaaa"] };
const FIRST = { provider: { only: ["first"] } };
const rankingOf = (results: readonly object[], more: object = {}): Script => ({
  json: { id: "c-1", results, meta: { billed_units: { search_units: 1 } }, ...more },
});

describe("invalid requests", () => {
  const REFUSED: readonly (readonly [string, object, string, "v1" | "v2"])[] = [
    ["no query", { documents: ["a"] }, "query", "v1"],
    ["an empty query", { query: "", documents: ["a"] }, "query", "v1"],
    ["no documents", { query: "a" }, "documents", "v1"],
    ["an empty list", { query: "a", documents: [] }, "documents", "v1"],
    ["documents that are no list", { query: "a", documents: "b" }, "documents", "v1"],
    ["too many documents", { query: "a", documents: Array.from({ length: 10_001 }, () => "b") }, "documents", "v1"],
    ["an empty document", { query: "a", documents: ["b", ""] }, "documents.1", "v1"],
    ["a number as a document", { query: "a", documents: ["b", 7] }, "documents.1", "v1"],
    ["an object without text", { query: "a", documents: [{ title: "b" }] }, "documents.0.text", "v1"],
    ["an image", { query: "a", documents: [{ text: "b", image: "data:," }] }, "documents.0.image", "v1"],
    [
      "an object without the named fields",
      { query: "a", documents: [{ c: 1 }], rank_fields: ["b"] },
      "documents.0",
      "v1",
    ],
    ["an object on /v2", { query: "a", documents: [{ text: "b" }] }, "documents.0", "v2"],
    ["top_n of zero", { ...BODY, top_n: 0 }, "top_n", "v1"],
    ["an unknown field", { ...BODY, priority: 1 }, "priority", "v1"],
    ["rank_fields on /v2", { ...BODY, rank_fields: ["text"] }, "rank_fields", "v2"],
    ["return_documents on /v2", { ...BODY, return_documents: true }, "return_documents", "v2"],
    ["max_chunks_per_doc", { ...BODY, max_chunks_per_doc: 1 }, "max_chunks_per_doc", "v1"],
  ];
  test.each(REFUSED)("RANK-01 PARAM-02 %s: 400 with the field's name", async (_, body, param, version) => {
    const { status, body: answer } = await scene.rank({ ...body }, version);
    expect([status, answer.error.param]).toEqual([400, param]);
  });

  test("RANK-01 more documents than one endpoint takes go to another; more than all take are refused", async () => {
    const many = (count: number) => ({ query: QUERY, documents: Array.from({ length: count }, () => "a") });
    scene.at("second").next(lettersRanked("jina"));
    expect((await scene.rank(many(300))).headers.get("x-svc-provider")).toBe("second");
    const { status, body } = await scene.rank(many(501));
    expect([status, body.error.param]).toEqual([400, "documents"]);
    expect(body.error.message).toContain("500");
  });

  test("RANK-01 routers and models without reranking are refused", async () => {
    for (const model of ["auto", "lab/no-such-model"])
      expect((await scene.rank({ ...BODY, model })).status).toBeGreaterThanOrEqual(400);
    const { body } = await scene.rank({ ...BODY, model: "auto" });
    expect(body.error.code).toBe("router_not_supported");
  });
});

describe("replies that are no ranking", () => {
  const BROKEN: readonly (readonly [string, Script])[] = [
    ["no results", rankingOf([])],
    ["a place outside the list", rankingOf([{ index: 2, relevance_score: 0.5 }])],
    ["a negative place", rankingOf([{ index: -1, relevance_score: 0.5 }])],
    ["a place twice", rankingOf([0, 0].map((index) => ({ index, relevance_score: 0.5 })))],
    ["a score that is text", rankingOf([{ index: 0, relevance_score: "high" }])],
    ["no score", rankingOf([{ index: 0 }])],
    ["another document", { json: { data: [] } }],
    ["text", { body: "busy" }],
    ["an error", { status: 500, json: { message: "down" } }],
  ];
  test.each(BROKEN)("RANK-01 ROUTE-04 %s: the next endpoint serves, and only it is charged", async (_, script) => {
    const tenant = await scene.gateway.tenant();
    scene.at("first").next(script);
    scene.at("second").next(lettersRanked("jina"));
    const answer = await scene.rank(BODY, "v1", tenant.key);
    expect([answer.status, answer.headers.get("x-svc-provider")]).toEqual([200, "second"]);
    expect(answer.body.usage).toMatchObject({ total_tokens: 30, cost: 0.03 });
    const { attempts } = await scene.rowOf(answer);
    expect(attempts.map(({ provider, outcome }: Json) => [provider, outcome])).toEqual([
      ["first", "next"],
      ["second", "served"],
    ]);
  });

  test("RANK-01 ERR-06 a provider's refusal of the request is passed on", async () => {
    scene.at("first").next({ status: 400, json: { id: "e", message: "too odd" } });
    const { status, body } = await scene.rank(BODY);
    expect([status, body.error.code, body.error.message]).toEqual([400, "provider_error", "too odd"]);
  });
});

describe("money", () => {
  const charged = async (tenant: Tenant) => {
    const { data } = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet/entries`);
    return data.filter(({ kind }: Json) => kind === "charge").map(({ amount }: Json) => amount);
  };

  test("RANK-01 BILL-01 the provider's search units are billed, and the receipt has them", async () => {
    const tenant = await scene.gateway.tenant();
    scene.at("first").next(lettersRanked("cohere", { search_units: 2 }));
    const answer = await scene.rank(
      { ...BODY, documents: Array.from({ length: 150 }, () => "aa"), ...FIRST },
      "v1",
      tenant.key,
    );
    expect(answer.body.meta.billed_units).toEqual({ search_units: 2 });
    expect(answer.body.usage).toEqual({ cost: 0.004, currency: "EUR" });
    expect(await charged(tenant)).toEqual(["-0.004"]);
    const id = answer.headers.get("x-svc-request-id");
    const receipt = await scene.gateway.call(tenant.key, `/v1/requests/${id}`);
    expect([receipt.status, receipt.body.usage?.search_units]).toEqual([200, 2]);
    expect((await scene.rowOf(answer)).detail).toMatchObject({ documents: 150, results: 150 });
    expect(await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`)).toMatchObject({ held: "0.00" });
  });

  test.each([
    ["none", undefined],
    ["an implausible number of", 1000],
    ["a fraction of", 0.5],
  ])("RANK-01 BILL-04 %s search units in the reply: the gateway's estimate is billed", async (_, search_units) => {
    scene.at("first").next(lettersRanked("cohere", { search_units }));
    const answer = await scene.rank({ ...BODY, documents: Array.from({ length: 150 }, () => "aa"), ...FIRST });
    expect(answer.body.meta.billed_units).toEqual({ search_units: 2 });
    expect(answer.body.usage.cost).toBe(0.004);
  });

  test("RANK-01 BILL-04 tokens that a provider does not report, or that cannot be, are estimated", async () => {
    for (const usage of [undefined, { total_tokens: 1e9 }]) {
      scene.at("second").next({ json: { results: [{ index: 0, relevance_score: 1 }], ...(usage && { usage }) } });
      const answer = await scene.rank({ ...BODY, provider: { only: ["second"] } });
      expect(answer.body.usage).not.toHaveProperty("total_tokens");
      const { usage: logged } = await scene.rowOf(answer);
      expect(logged).toMatchObject({ estimated: true, output_tokens: 0 });
      expect(logged.input_tokens).toBeGreaterThan(5);
      expect(logged.input_tokens).toBeLessThan(40);
    }
  });

  test("RANK-01 BILL-05 the hold covers every search unit that long documents may cost", async () => {
    const poor = await scene.gateway.tenant({ credit: "0.01" });
    const before = scene.at("first").requests.length;
    const { status, body } = await scene.rank(
      { query: QUERY, documents: Array.from({ length: 200 }, () => "word ".repeat(2000)), ...FIRST },
      "v1",
      poor.key,
    );
    expect([status, body.error.code]).toEqual([402, "insufficient_credits"]);
    expect(scene.at("first").requests.length).toBe(before);
  });
});

describe("policy", () => {
  test("RANK-01 SCOPE-01 a key needs inference:rerank", async () => {
    const key = async (scope: string) => (await scene.gateway.tenant({ key: { scopes: [scope] } })).key;
    scene.at("first").next(lettersRanked("cohere"));
    expect((await scene.rank(BODY, "v1", await key("inference:rerank"))).status).toBe(200);
    const refused = await scene.rank(BODY, "v2", await key("inference:embeddings"));
    expect([refused.status, refused.body.error.code]).toEqual([403, "insufficient_scope"]);
  });

  test("RANK-01 POL-02 a floor excludes endpoints, and data classes are found in query and documents", async () => {
    const tenant = await scene.gateway.tenant();
    const policy = (change: object) => scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, change);
    await policy({ data_classes: { personal: { floor: "L4" } } });
    const mail = "Write to erika.mustermann@example.org please";
    for (const body of [
      { query: mail, documents: ["a"] },
      { query: QUERY, documents: ["a", mail] },
      { query: QUERY, documents: [{ text: mail }] },
    ]) {
      const refused = await scene.rank(body, "v1", tenant.key);
      expect([refused.status, refused.body.error.code]).toEqual([403, "sovereignty_floor_not_met"]);
    }
    scene.at("first").next(lettersRanked("cohere"));
    expect((await scene.rank(BODY, "v1", tenant.key)).status).toBe(200);
  });

  test("RANK-01 CLASS-03 pseudonymising excludes endpoints below its level, because scores are of the originals", async () => {
    const tenant = await scene.gateway.tenant();
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, {
      data_classes: { personal: { below: "L4", action: "pseudonymise" } },
    });
    const before = scene.at("first").requests.length;
    const mail = "Write to erika.mustermann@example.org please";
    const refused = await scene.rank({ query: QUERY, documents: [mail] }, "v1", tenant.key);
    expect([refused.status, refused.body.error.code]).toEqual([403, "sovereignty_floor_not_met"]);
    expect(scene.at("first").requests.length).toBe(before);
  });

  test("RANK-01 LOG-01 a call is logged as rerank without its texts, and never runs twice under one key", async () => {
    const tenant = await scene.gateway.tenant();
    const send = () =>
      scene.gateway.call(tenant.key, "/v1/rerank", {
        body: { model: "lab/ranker", ...BODY, query: "a canary in the query" },
        headers: { "idempotency-key": "one" },
      });
    scene.at("first").next(lettersRanked("cohere"));
    const answer = await send();
    const row = await scene.rowOf(answer);
    expect(row).toMatchObject({ surface: "rerank", status: 200, model: "lab/ranker", provider: "first" });
    expect(JSON.stringify(row)).not.toContain("canary");
    const again = await send();
    expect(again.body.error?.code ?? "idempotent").toContain("idempotent");
  });

  test("RANK-01 a disabled surface responds with rerank_not_enabled and is in no list", async () => {
    const off = await startGateway({ env: { GATEWAY_RERANK: "off" } });
    try {
      for (const path of ["/v1/rerank", "/v2/rerank"]) {
        const refused = await off.call(off.key, path, { body: { model: "sandbox/rerank", ...BODY } });
        expect([refused.status, refused.body.error.code]).toEqual([404, "rerank_not_enabled"]);
      }
      const { data } = (await off.call(off.key, "/v1/models")).body;
      expect(data.some(({ svc_surfaces: surfaces }: Json) => surfaces.includes("rerank"))).toBe(false);
    } finally {
      await off.close();
    }
  });
});
