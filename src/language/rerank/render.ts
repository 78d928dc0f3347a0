import type { ReportedCost } from "../canon/reply.ts";
import type { Ranked, RankedDocument, RerankCall } from "./call.ts";

export type RankingCounts = { readonly tokens: number | undefined; readonly searchUnits: number | undefined };

/** The reply in the formats of Cohere and Jina at once: each client reads its own members. */
export function renderRanking(
  ranked: readonly Ranked[],
  { echoes, version }: Pick<RerankCall, "echoes" | "version">,
  { id, model, tokens, searchUnits }: RankingCounts & { readonly id: string; readonly model: string },
  shown: ReportedCost | undefined,
): string {
  return JSON.stringify({
    id,
    model,
    results: ranked.map(({ index, score }) => ({ index, relevance_score: score, ...documentAt(echoes, index) })),
    meta: {
      api_version: { version },
      ...(searchUnits === undefined ? {} : { billed_units: { search_units: searchUnits } }),
    },
    usage: { ...(tokens === undefined ? {} : { total_tokens: tokens, prompt_tokens: tokens }), ...shown },
  });
}

function documentAt(echoes: readonly RankedDocument[] | undefined, index: number): { document?: RankedDocument } {
  const document = echoes?.[index];
  return document === undefined ? {} : { document };
}
