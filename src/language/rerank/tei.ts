import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { all, members } from "../dialects/reply-members.ts";
import { type RerankWireFormat, rankedItems, reportedCount } from "./wire-format.ts";

const TOKENS_HEADER = "x-compute-tokens";

/** Text Embeddings Inference: a bare list, all results, and tokens in a header. The server has one model. */
export const teiRerank: RerankWireFormat = {
  reply: members({ ...all("carried", "index", "score"), text: "exempt" }),
  path: () => "/rerank",
  // As the other servers do: an overlong document is cut, not refused.
  encode: ({ query, texts }) => ({ query, texts, truncate: true }),
  decode(body, headers) {
    const ranked = rankedItems(body, "score");
    return ranked && { ranked, tokens: reportedCount(headers[TOKENS_HEADER]), searchUnits: undefined, id: null };
  },
  decodeProblem,
};
