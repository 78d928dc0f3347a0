import { fault } from "../../contract/faults.ts";
import { RerankV1Fields, RerankV2Fields } from "../../contract/schemas/rerank.ts";
import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { MissingCapability } from "../../domain/routing/requirements.ts";
import { rerankAdapter } from "../../io/upstream/rerank-adapter.ts";
import { UPSTREAM_ADAPTERS } from "../../io/upstream/upstream-adapters.ts";
import { decodeRoutingHints } from "../../language/canon/routing-hints.ts";
import { conservativeTextTokens } from "../../language/canon/tokens.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import { estimateRerankTokens, estimateSearchUnits, type RerankCall } from "../../language/rerank/call.ts";
import { decodeDocuments, type RerankDocuments } from "../../language/rerank/request.ts";
import type { Handler } from "../exchange.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import type {
  DecodedRequest,
  EndpointAdapter,
  InferenceRequest,
  RequestOutline,
  UsageBound,
} from "../pipeline/inference-request.ts";
import { inferenceHandler } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";

/** POST /v1/rerank and /v2/rerank. */
export function rerankHandlers(gateway: GatewayDeps): Record<string, Handler> {
  return {
    createRanking: inferenceHandler(gateway, "rerank", decodeRanking),
    createRankingV2: inferenceHandler(gateway, "rerank", decodeV2),
  };
}

export function decodeRanking(bytes: Buffer): DecodedRequest {
  const request = decodeWith(RerankV1Fields, parseJson(bytes).value);
  const read = decodeDocuments(request.documents, { rankFields: request.rank_fields ?? undefined });
  return decoded(request, read, { version: "1", echoes: request.return_documents === true ? read.echoes : undefined });
}

function decodeV2(bytes: Buffer): DecodedRequest {
  const request = decodeWith(RerankV2Fields, parseJson(bytes).value);
  return decoded(request, decodeDocuments(request.documents, "strings"), { version: "2", echoes: undefined });
}

type SharedFields = ReturnType<typeof RerankV2Fields.parse>;

function decoded(
  { model, query, top_n, max_tokens_per_doc, provider, data_classes, cache }: SharedFields,
  { texts }: RerankDocuments,
  form: Pick<RerankCall, "version" | "echoes">,
): DecodedRequest {
  return {
    request: new RerankInferenceRequest({
      model,
      query,
      texts,
      topN: top_n ?? undefined,
      maxTokensPerDoc: max_tokens_per_doc ?? undefined,
      queryTokens: conservativeTextTokens(query),
      textTokens: texts.map(conservativeTextTokens),
      routingHints: decodeRoutingHints({ provider, data_classes, cache }),
      ...form,
    }),
  };
}

class RerankInferenceRequest implements InferenceRequest {
  readonly outline: RequestOutline;
  readonly streaming = false;
  readonly inputTokens: number;
  readonly #ask: RerankCall;
  readonly #searchUnits: number;

  constructor(ask: RerankCall) {
    this.#ask = ask;
    this.inputTokens = estimateRerankTokens(ask);
    this.#searchUnits = estimateSearchUnits(ask);
    this.outline = {
      model: ask.model,
      routingHints: ask.routingHints,
      requirements: {
        needs: [],
        parameters: [],
        otherParameters: ask.maxTokensPerDoc === undefined ? [] : ["max_tokens_per_doc"],
        inputTokens: this.inputTokens,
        maxOutputTokens: 0,
        billedUnits: { characters: 0, seconds: 0, audioOutputTokens: 0, searchUnits: this.#searchUnits },
        checkFit: (endpoint) => missingRerankCapability(endpoint, ask),
      },
    };
  }

  get detail() {
    return { documents: this.#ask.texts.length };
  }

  usageBoundAt(): UsageBound {
    return { inputTokens: this.inputTokens, outputTokens: 0, searchUnits: this.#searchUnits };
  }

  adapterFor({ endpoint, price }: Attempt, _plan: Plan, { id }: ReplyHead): EndpointAdapter {
    const { rerank: support } = endpoint;
    if (support === null) throw new Error(`${endpoint.id} has no rerank interface`);
    const billsSearchUnits = price.per1kSearchUnits != null;
    const adapter = rerankAdapter({ call: this.#ask, endpoint, support, billsSearchUnits, id });
    return { adapter, reasoning: undefined };
  }

  content(): unknown {
    const { query, texts } = this.#ask;
    return { query, documents: texts };
  }

  referencesProviderState(): boolean {
    return false;
  }
}

function missingRerankCapability({ rerank }: Endpoint, ask: RerankCall): MissingCapability | undefined {
  if (rerank === null) return undefined;
  const { documentsMax } = rerank;
  const count = ask.texts.length;
  if (documentsMax !== null && count > documentsMax)
    return {
      reason: `ranks at most ${documentsMax} documents per request`,
      param: "documents",
      limit: documentsMax,
      fault: fault("invalid_value", {
        message: `Field "documents" has ${count} items, but ${ask.model} ranks at most ${documentsMax} per request. Send fewer.`,
        param: "documents",
      }),
    };
  if (ask.maxTokensPerDoc !== undefined && UPSTREAM_ADAPTERS.rerank[rerank.interface].takesMaxTokensPerDoc !== true)
    return { reason: "cannot limit the tokens of a document", param: "max_tokens_per_doc" };
  return undefined;
}
