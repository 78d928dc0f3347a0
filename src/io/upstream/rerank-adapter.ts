import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { RerankSupport } from "../../domain/catalogue/rerank-support.ts";
import { JsonDocument } from "../../kit/json-document.ts";
import { pluralize } from "../../kit/pluralize.ts";
import { SseReader } from "../../kit/sse.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { NO_TOKENS } from "../../language/canon/usage.ts";
import { NO_CEILING, PLAUSIBLE_FACTOR, PROVIDER_OVERHEAD_TOKENS } from "../../language/canon/usage-ceiling.ts";
import { omittedMembers } from "../../language/dialects/reply-members.ts";
import { estimateSearchUnits, type Ranked, type RerankCall } from "../../language/rerank/call.ts";
import { renderRanking } from "../../language/rerank/render.ts";
import type { RerankReply } from "../../language/rerank/wire-format.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";
import { UPSTREAM_ADAPTERS } from "./upstream-adapters.ts";

export type RerankTarget = {
  readonly call: RerankCall;
  readonly endpoint: Pick<Endpoint, "upstreamModel" | "model">;
  readonly support: RerankSupport;
  /** The endpoint's price is per search unit: they are estimated if the provider reports none. */
  readonly billsSearchUnits: boolean;
  readonly id: string;
};

/** The places `from` to `to` of the documents. */
type Batch = { readonly from: number; readonly to: number };

/** The reply of one batch keeps its results until all batches are complete. */
type RankedBatch = WholeReply & { readonly ranked: readonly Ranked[]; readonly counts: Counts };

type Counts = {
  readonly tokens: number | undefined;
  readonly searchUnits: number | undefined;
  readonly isImplausible: boolean;
};

/** One or more requests that together rank all documents, and one reply. */
export function rerankAdapter(target: RerankTarget): UpstreamAdapter {
  const { call, support } = target;
  const total = call.texts.length;
  const size = support.batchMax ?? total;
  const places = Array.from({ length: Math.ceil(total / size) }, (_, at) => ({
    from: at * size,
    to: Math.min(total, (at + 1) * size),
  }));
  const batches: RankedBatch[] = [];
  const [first, ...others] = places.map((place, at) =>
    batchAdapter(target, place, places.length === 1 ? call.topN : undefined, (batch) => {
      batches[at] = batch;
    }),
  );
  if (first === undefined) throw new Error("a request for no documents");
  if (others.length === 0) return first;
  return {
    ...first,
    // The usage of each batch was checked against its own documents.
    maxUsage: () => NO_CEILING,
    subRequests: { adapters: [first, ...others], join: () => joinBatches(batches, target) },
  };
}

function batchAdapter(
  target: RerankTarget,
  batch: Batch,
  topN: number | undefined,
  onBatch: (batch: RankedBatch) => void,
): UpstreamAdapter {
  const { call, endpoint, support } = target;
  const { upstreamModel } = endpoint;
  const wire = UPSTREAM_ADAPTERS.rerank[support.interface];
  const texts = call.texts.slice(batch.from, batch.to);
  const tokensMax = plausibleTokens(call, texts);
  return {
    surface: null,
    path: wire.path(upstreamModel),
    auth: "bearer",
    headers: {},
    streamContentType: "text/event-stream",
    keepAliveFrame: "",
    effort: undefined,
    // Wider than the billing check: it opens circuits, so it allows for the provider's overhead per document.
    maxUsage: () => ({ ...NO_CEILING, inputTokens: tokensMax + PROVIDER_OVERHEAD_TOKENS * texts.length }),
    encode: () =>
      JSON.stringify(
        wire.encode({ upstreamModel, query: call.query, texts, topN, maxTokensPerDoc: call.maxTokensPerDoc }),
      ),
    decodeResponse(source, headers) {
      const { value } = JsonDocument.of(source);
      const answer = wire.decode(value, headers);
      if (answer === undefined) return undefined;
      const problem = problemIn(answer, texts.length);
      if (problem !== undefined) return { unusable: problem };
      const ranked = answer.ranked.map(({ index, score }) => ({ index: batch.from + index, score }));
      const counts = countsOf(answer, tokensMax, batch, target);
      const reply = replyOf(ranked, counts, target, { omitted: omittedMembers(value, wire.reply), id: answer.id });
      onBatch(reply);
      return reply;
    },
    openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
    openReplyStream() {
      throw new Error("a ranking arrived as a stream");
    },
    decodeProblem: wire.decodeProblem,
  };
}

/** Why a ranking cannot be returned; undefined: it can. */
function problemIn({ ranked }: RerankReply, documents: number): string | undefined {
  if (ranked.length === 0) return `no results for ${pluralize(documents, "document")}`;
  const seen = new Set<number>();
  for (const { index, score } of ranked) {
    if (!Number.isInteger(index) || index < 0 || index >= documents) return "a result is for no document";
    if (seen.has(index)) return "two results are for one document";
    if (!Number.isFinite(score)) return "a score is not a number";
    seen.add(index);
  }
  return undefined;
}

/** No tokenizer yields more tokens than bytes, except for a few per input. */
const OVERHEAD_TOKENS_PER_DOCUMENT = 16;

function plausibleTokens({ query }: RerankCall, texts: readonly string[]): number {
  const each = Buffer.byteLength(query) + OVERHEAD_TOKENS_PER_DOCUMENT;
  return PLAUSIBLE_FACTOR * texts.reduce((sum, text) => sum + each + Buffer.byteLength(text), 0);
}

function countsOf(
  { tokens, searchUnits }: RerankReply,
  tokensMax: number,
  { from, to }: Batch,
  { call, billsSearchUnits }: RerankTarget,
): Counts {
  const estimated = estimateSearchUnits({
    queryTokens: call.queryTokens,
    textTokens: call.textTokens.slice(from, to),
  });
  const areUnitsImplausible = searchUnits !== undefined && searchUnits > PLAUSIBLE_FACTOR * estimated;
  return {
    tokens,
    searchUnits: !billsSearchUnits ? undefined : areUnitsImplausible ? estimated : (searchUnits ?? estimated),
    isImplausible: areUnitsImplausible || (tokens !== undefined && tokens > tokensMax),
  };
}

function replyOf(
  ranked: readonly Ranked[],
  counts: Counts,
  { call, endpoint, id }: RerankTarget,
  { omitted, id: upstreamId }: { readonly omitted: readonly string[] | undefined; readonly id: string | null },
): RankedBatch {
  const { searchUnits, isImplausible } = counts;
  const tokens = isImplausible ? undefined : counts.tokens;
  const sorted = ranked.toSorted((a, b) => b.score - a.score).slice(0, call.topN);
  const documents = call.texts.length;
  // Search units alone are a complete report.
  const isReported = tokens !== undefined || searchUnits !== undefined;
  return {
    ranked,
    counts,
    usage: isReported && !isImplausible ? { ...NO_TOKENS, inputTokens: tokens ?? 0 } : undefined,
    isUsageRejected: isImplausible ? true : undefined,
    units: searchUnits === undefined ? undefined : { searchUnits },
    upstreamId,
    outputWeight: 0,
    promptCount: documents,
    omitted,
    detail: { documents, results: sorted.length },
    render: (_counted, shown) => renderRanking(sorted, call, { id, model: endpoint.model, tokens, searchUnits }, shown),
  };
}

/** All results, best first; counts only if every batch reported them. */
function joinBatches(batches: readonly RankedBatch[], target: RerankTarget): WholeReply | UnusableReply {
  const sumOf = (name: "tokens" | "searchUnits") => {
    const values = batches.map(({ counts }) => counts[name]);
    return values.reduce((sum, value) => (sum === undefined || value === undefined ? undefined : sum + value), 0);
  };
  const counts = {
    tokens: sumOf("tokens"),
    searchUnits: sumOf("searchUnits"),
    isImplausible: batches.some(({ counts: { isImplausible } }) => isImplausible),
  };
  const omitted = [...new Set(batches.flatMap((batch) => batch.omitted ?? []))];
  const ranked = batches.flatMap((batch) => batch.ranked);
  const facts = { omitted: omitted.length === 0 ? undefined : omitted, id: batches[0]?.upstreamId ?? null };
  return replyOf(ranked, counts, target, facts);
}
