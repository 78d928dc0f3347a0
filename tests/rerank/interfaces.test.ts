import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { loadExchange, scriptOf } from "../support/replay.ts";
import { lettersRanked, openRerank, type RerankHost, type RerankScene, scoreOf } from "../support/rerank.ts";
import { credentialOf } from "../support/scene.ts";

const UNITS = { per_1k_search_units: 2 };
const TOKENS = { input_per_1m_tokens: 1 };
const HOSTS = {
  cohere: { facts: { interface: "cohere" }, price: UNITS, upstreamModel: "rerank-v3.5" },
  bedrock: { facts: { interface: "bedrock_cohere" }, price: UNITS, upstreamModel: "cohere.rerank-v3-5:0" },
  jina: { facts: { interface: "jina" }, price: TOKENS },
  voyage: { facts: { interface: "voyage" }, price: TOKENS, upstreamModel: "rerank-2-lite" },
  vllm: { facts: { interface: "vllm" }, price: TOKENS },
  tei: { facts: { interface: "tei", batch_max: 2 }, price: TOKENS },
} satisfies Record<string, RerankHost>;
type Slug = keyof typeof HOSTS;

let scene: RerankScene;
beforeAll(async () => {
  scene = await openRerank(HOSTS);
});
afterAll(() => scene.close());

const only = (slug: Slug) => ({ provider: { only: [slug] } });
const QUERY = "which one is longest";
const TEXTS = ["aa", "aaaa", "a", "aaa"];

describe("recorded traffic, or samples of the same form", () => {
  /** What the recorded client sent and the gateway does not. */
  const RECORDINGS: readonly (readonly [string, Slug, (sent: Json) => Json])[] = [
    ["cohere-v2", "cohere", (sent) => sent],
    ["cohere-v1", "cohere", ({ model: _model, ...sent }) => ({ model: "rerank-v3.5", ...sent })],
    ["bedrock-cohere", "bedrock", (sent) => sent],
    ["voyage", "voyage", ({ truncation: _truncation, ...sent }) => sent],
  ];
  test.each(RECORDINGS)("RANK-01 %s: the same request, and its results for the caller", async (name, slug, without) => {
    for (const recorded of loadExchange(`surfaces/rerank/${name}`).interactions) {
      const sent: Json = JSON.parse(recorded.request.body.toString());
      scene.at(slug).next(scriptOf(recorded));
      const { query, documents } = sent;
      const answer = await scene.rank({ query, documents, top_n: sent.top_n ?? sent.top_k, ...only(slug) });
      expect([answer.status, answer.text]).toEqual([200, answer.text]);
      expect(scene.at(slug).requests.at(-1)?.json).toEqual(without(sent));
      const given: Json = JSON.parse(recorded.response.body.toString());
      const results = (given.results ?? given.data).map(({ index, relevance_score }: Json) => ({
        index,
        relevance_score,
      }));
      expect(answer.body.results).toEqual(results);
      const units = slug === "voyage" ? undefined : 1;
      expect(answer.body.meta.billed_units?.search_units).toBe(units);
      expect(answer.body.usage.total_tokens).toBe(given.usage?.total_tokens);
      expect(answer.body.usage.cost).toBe(units === undefined ? given.usage.total_tokens / 1e6 : 0.002);
      expect((await scene.rowOf(answer)).usage).toMatchObject({ search_units: units ?? null, estimated: false });
    }
  });
});

describe("every wire format", () => {
  const shared = { query: QUERY, documents: TEXTS };
  const SENT: Readonly<Record<Slug, readonly [path: string, bodies: readonly Json[]]>> = {
    cohere: ["/v1/rerank", [{ model: "rerank-v3.5", ...shared, top_n: 3 }]],
    bedrock: ["/v1/model/cohere.rerank-v3-5%3A0/invoke", [{ api_version: 2, ...shared, top_n: 3 }]],
    jina: ["/v1/rerank", [{ model: "ranker-1", ...shared, top_n: 3, return_documents: false }]],
    voyage: ["/v1/rerank", [{ model: "rerank-2-lite", ...shared, top_k: 3 }]],
    vllm: ["/v1/rerank", [{ model: "ranker-1", ...shared, top_n: 3 }]],
    tei: [
      "/v1/rerank",
      [
        { query: QUERY, texts: TEXTS.slice(0, 2), truncate: true },
        { query: QUERY, texts: TEXTS.slice(2), truncate: true },
      ],
    ],
  };

  test.each(Object.entries(SENT))("RANK-01 %s: request, credential and results", async (name, [path, bodies]) => {
    const slug = name as Slug;
    const upstream = scene.at(slug);
    const before = upstream.requests.length;
    upstream.always(lettersRanked(HOSTS[slug].facts.interface));
    const { status, body, headers } = await scene.rank({ ...shared, top_n: 3, return_documents: true, ...only(slug) });
    expect([status, body.error]).toEqual([200, undefined]);
    const received = upstream.requests.slice(before);
    expect(received.map(({ json }) => json)).toEqual(expect.arrayContaining([...bodies]));
    expect(received).toHaveLength(bodies.length);
    for (const { path: at, headers: sent } of received) {
      expect(at).toBe(path);
      expect(sent["authorization"]).toBe(`Bearer ${credentialOf(slug)}`);
    }
    expect(body.results).toEqual(
      [1, 3, 0].map((index) => ({
        index,
        relevance_score: scoreOf(TEXTS[index] ?? ""),
        document: { text: TEXTS[index] },
      })),
    );
    expect([body.model, headers.get("x-svc-provider"), headers.has("x-svc-omitted")]).toEqual([
      "lab/ranker",
      slug,
      false,
    ]);
    expect(body.id).toBe(headers.get("x-svc-request-id"));
  });

  test("RANK-01 max_tokens_per_doc reaches the formats that have it, and excludes the others by name", async () => {
    for (const slug of ["cohere", "bedrock", "vllm"] as const) {
      scene.at(slug).next(lettersRanked(HOSTS[slug].facts.interface));
      expect((await scene.rank({ ...shared, max_tokens_per_doc: 64, ...only(slug) })).status).toBe(200);
      expect(scene.at(slug).requests.at(-1)?.json).toMatchObject({ max_tokens_per_doc: 64 });
    }
    for (const slug of ["jina", "voyage", "tei"] as const) {
      const { status, body } = await scene.rank({ ...shared, max_tokens_per_doc: 64, ...only(slug) });
      expect([status, body.error.message]).toEqual([status, expect.stringContaining("max_tokens_per_doc")]);
      expect(status).toBeGreaterThanOrEqual(400);
    }
  });

  test("RANK-01 results of parts are merged by score, with the places of the whole list", async () => {
    scene.at("tei").always(lettersRanked("tei"));
    const documents = Array.from({ length: 7 }, (_, at) => "a".repeat(((at * 3) % 7) + 1));
    const { body } = await scene.rank({ query: QUERY, documents, ...only("tei") });
    const expected = documents
      .map((text, index) => ({ index, text }))
      .toSorted((a, b) => b.text.length - a.text.length);
    expect(body.results.map(({ index }: Json) => index)).toEqual(expected.map(({ index }) => index));
    // Each of the four parts reported 30 tokens.
    expect(body.usage).toMatchObject({ total_tokens: 120, cost: 0.00012 });
  });
});

describe("versions", () => {
  test("RANK-01 /v2 takes strings only and says so in its reply", async () => {
    scene.at("cohere").next(lettersRanked("cohere"));
    const { body } = await scene.rank({ query: QUERY, documents: TEXTS, ...only("cohere") }, "v2");
    expect(body.meta.api_version).toEqual({ version: "2" });
    expect(body.results[0]).toEqual({ index: 1, relevance_score: scoreOf("aaaa") });
  });

  test("RANK-01 objects are ranked by text, or by the fields that rank_fields names, and come back whole", async () => {
    const documents = [{ text: "aaaa", page: 7 }, { text: "aa" }];
    scene.at("cohere").next(lettersRanked("cohere"));
    const plain = await scene.rank({ query: QUERY, documents, return_documents: true, ...only("cohere") });
    expect(scene.at("cohere").requests.at(-1)?.json).toMatchObject({ documents: ["aaaa", "aa"] });
    expect(plain.body.results.map(({ document }: Json) => document)).toEqual(documents);
    scene.at("cohere").next(lettersRanked("cohere"));
    const rich = [{ title: "A", tags: ["b"], year: 2020, other: "x" }, { title: "C" }];
    await scene.rank({ query: QUERY, documents: rich, rank_fields: ["title", "year", "tags"], ...only("cohere") });
    const lines = ['title: A\nyear: 2020\ntags: ["b"]', "title: C"];
    expect(scene.at("cohere").requests.at(-1)?.json).toMatchObject({ documents: lines });
  });
});
