import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { all, type MemberRule, members } from "../dialects/reply-members.ts";
import {
  type RerankReply,
  type RerankWireFormat,
  type RerankWireRequest,
  rankedItems,
  reportedCount,
} from "./wire-format.ts";

/** Reranking has no output, so the total is the input. */
const USAGE: MemberRule = members({ total_tokens: "carried", ...all("exempt", "prompt_tokens", "completion_tokens") });
const RESULT: MemberRule = members({ ...all("carried", "index", "relevance_score"), document: "exempt" });

/** Jina's format, which vLLM, Infinity and llama.cpp serve too. */
export const jinaRerank: RerankWireFormat = {
  reply: members({ ...all("exempt", "id", "model", "object"), usage: USAGE, results: RESULT }),
  path: () => "/rerank",
  encode: ({ upstreamModel, query, texts, topN }) => ({
    model: upstreamModel,
    query,
    documents: texts,
    ...(topN === undefined ? {} : { top_n: topN }),
    // The gateway has the documents: a copy would only be read.
    return_documents: false,
  }),
  decode: (body) => decodeReply(body, "results"),
  decodeProblem,
};

/** vLLM: Jina's format with a limit per document. */
export const vllmRerank: RerankWireFormat = {
  ...jinaRerank,
  takesMaxTokensPerDoc: true,
  encode: ({ upstreamModel, query, texts, topN, maxTokensPerDoc }: RerankWireRequest): JsonObject => ({
    model: upstreamModel,
    query,
    documents: texts,
    ...(topN === undefined ? {} : { top_n: topN }),
    ...(maxTokensPerDoc === undefined ? {} : { max_tokens_per_doc: maxTokensPerDoc }),
  }),
};

/** Voyage: Jina's format with other names. */
export const voyageRerank: RerankWireFormat = {
  reply: members({ ...all("exempt", "object", "model"), usage: USAGE, data: RESULT }),
  path: () => "/rerank",
  encode: ({ upstreamModel, query, texts, topN }) => ({
    model: upstreamModel,
    query,
    documents: texts,
    ...(topN === undefined ? {} : { top_k: topN }),
  }),
  decode: (body) => decodeReply(body, "data"),
  decodeProblem,
};

function decodeReply(body: unknown, list: "results" | "data"): RerankReply | undefined {
  if (!isJsonObject(body)) return undefined;
  const ranked = rankedItems(body[list], "relevance_score");
  const { id, usage } = body;
  const tokens = isJsonObject(usage) ? reportedCount(usage["total_tokens"]) : undefined;
  return ranked && { ranked, tokens, searchUnits: undefined, id: typeof id === "string" ? id : null };
}
