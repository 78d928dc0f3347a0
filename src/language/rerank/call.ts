import type { RoutingHints } from "../canon/routing-hints.ts";

/** The canonical rerank request. */
export type RerankCall = {
  readonly model: string;
  readonly query: string;
  /** What is ranked: the text of each document. */
  readonly texts: readonly string[];
  /** What results repeat, in the same order; absent: nothing. */
  readonly echoes: readonly RankedDocument[] | undefined;
  readonly topN: number | undefined;
  readonly maxTokensPerDoc: number | undefined;
  readonly queryTokens: number;
  /** Estimated tokens of each document. */
  readonly textTokens: readonly number[];
  /** The version of Cohere's format that the caller uses. */
  readonly version: "1" | "2";
  readonly routingHints: RoutingHints | undefined;
};

export type RankedDocument = Readonly<Record<string, unknown>>;

/** `index` is the place of the document in the request. */
export type Ranked = { readonly index: number; readonly score: number };

const SEARCH_UNIT_DOCUMENTS = 100;
/** Cohere splits a document with its query into pieces of this length, and each piece counts as a document. */
const PIECE_TOKENS = 500;
const PIECE_TOKENS_MIN = 100;

/** A query with up to 100 documents is one search unit. Estimated: the provider's own number is billed. */
export function estimateSearchUnits({
  queryTokens,
  textTokens,
}: Pick<RerankCall, "queryTokens" | "textTokens">): number {
  const room = Math.max(PIECE_TOKENS_MIN, PIECE_TOKENS - queryTokens);
  const pieces = textTokens.reduce((sum, tokens) => sum + Math.max(1, Math.ceil(tokens / room)), 0);
  return Math.max(1, Math.ceil(pieces / SEARCH_UNIT_DOCUMENTS));
}

/** The query is read with each document. */
export function estimateRerankTokens({
  queryTokens,
  textTokens,
}: Pick<RerankCall, "queryTokens" | "textTokens">): number {
  return textTokens.reduce((sum, tokens) => sum + queryTokens + tokens, 0);
}
