import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { decodeProblem as decodeCohereProblem } from "../dialects/chat/upstream/errors.ts";
import { decodeProblem } from "../dialects/converse/upstream/errors.ts";
import { all, type MemberRule, members } from "../dialects/reply-members.ts";
import {
  type RerankReply,
  type RerankWireFormat,
  type RerankWireRequest,
  rankedItems,
  reportedCount,
} from "./wire-format.ts";

const RESULTS: MemberRule = members({ ...all("carried", "index", "relevance_score"), document: "exempt" });

/** Cohere's own API, in its second version. */
export const cohereRerank: RerankWireFormat = {
  takesMaxTokensPerDoc: true,
  reply: members({
    id: "exempt",
    results: RESULTS,
    meta: members({
      ...all("exempt", "api_version", "tokens"),
      billed_units: members({ search_units: "carried" }),
    }),
  }),
  path: () => "/rerank",
  encode: (request) => ({ model: request.upstreamModel, ...encodeRequest(request) }),
  decode(body) {
    const meta = isJsonObject(body) ? body["meta"] : undefined;
    const billed = isJsonObject(meta) ? meta["billed_units"] : undefined;
    return decodeReply(body, isJsonObject(billed) ? reportedCount(billed["search_units"]) : undefined);
  },
  decodeProblem: decodeCohereProblem,
};

/** Cohere on Bedrock, whose replies state no units. */
export const bedrockCohereRerank: RerankWireFormat = {
  takesMaxTokensPerDoc: true,
  reply: members({ results: RESULTS }),
  path: (upstreamModel) => `/model/${encodeURIComponent(upstreamModel)}/invoke`,
  encode: (request) => ({ api_version: 2, ...encodeRequest(request) }),
  decode: (body) => decodeReply(body, undefined),
  decodeProblem,
};

function encodeRequest({ query, texts, topN, maxTokensPerDoc }: RerankWireRequest): JsonObject {
  return {
    query,
    documents: texts,
    ...(topN === undefined ? {} : { top_n: topN }),
    ...(maxTokensPerDoc === undefined ? {} : { max_tokens_per_doc: maxTokensPerDoc }),
  };
}

function decodeReply(body: unknown, searchUnits: number | undefined): RerankReply | undefined {
  if (!isJsonObject(body)) return undefined;
  const ranked = rankedItems(body["results"], "relevance_score");
  const { id } = body;
  return ranked && { ranked, tokens: undefined, searchUnits, id: typeof id === "string" ? id : null };
}
