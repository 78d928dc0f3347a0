import type { Route } from "../../route.ts";
import { CallHeaders } from "../../schemas/idempotency.ts";
import { Ranking, RerankRequest, RerankV2Request } from "../../schemas/rerank.ts";
import { CHARGED_FAULTS, CHAT_FAULTS } from "./faults.ts";

const SHARED = {
  method: "POST",
  access: { by: "key", scope: "inference:rerank" },
  intake: "json",
  switchedBy: "rerank",
  counted: true,
  tag: "Rerank",
  headers: CallHeaders,
  servingHeaders: "embeddings",
  answer: { is: "json", status: 200, schema: Ranking },
  faults: [...CHAT_FAULTS, "router_not_supported", "rerank_not_enabled", ...CHARGED_FAULTS],
} as const satisfies Partial<Route>;

const BODY = {
  model: "sandbox/rerank",
  query: "Which animal barks?",
  documents: ["Cats purr when they are content.", "A dog barks at strangers."],
};

const answerOf = (version: string, document: object) => ({
  id: "req_0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
  model: "sandbox/rerank",
  results: [{ index: 1, relevance_score: 0.62, ...document }],
  meta: { api_version: { version }, billed_units: { search_units: 1 } },
  usage: { cost: 0.002, currency: "EUR" },
});

export const RERANK_ROUTES: readonly Route[] = [
  {
    ...SHARED,
    id: "createRanking",
    path: "/v1/rerank",
    summary: "Rank documents by a query",
    description:
      "Accepts the formats of Jina and of Cohere's first version, for every rerank model. Documents in results are the request's own.",
    body: RerankRequest,
    example: {
      body: { ...BODY, top_n: 1, return_documents: true },
      answer: answerOf("1", { document: { text: BODY.documents[1] } }),
    },
  },
  {
    ...SHARED,
    id: "createRankingV2",
    path: "/v2/rerank",
    summary: "Rank documents by a query, in Cohere's second version",
    description: "Documents are strings, and results never repeat them.",
    body: RerankV2Request,
    example: { body: { ...BODY, top_n: 1 }, answer: answerOf("2", {}) },
  },
];
