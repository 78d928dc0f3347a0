import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { Requirements } from "../../domain/routing/capability.ts";
import { decisionsAdapter } from "../../io/upstream/decisions-adapter.ts";
import type { JsonObject } from "../../kit/json.ts";
import { conservativeTextTokens, expectedTextTokens } from "../../language/canon/estimate.ts";
import {
  type DecisionCall,
  type DecisionTokenEstimate,
  estimateDecisionTokens,
} from "../../language/decisions/call.ts";
import type { DecisionRenderer } from "../../language/decisions/render.ts";
import type { EndpointAdapter, InferenceRequest, RequestOutline, UsageBound } from "../pipeline/inference-request.ts";
import { missingDecisionCapability, tokensPerRequest } from "./decision-fit.ts";

/** Upper bound of billed output tokens per question. */
const OUTPUT_TOKENS_PER_QUESTION = 32;

export class DecisionInferenceRequest implements InferenceRequest {
  readonly outline: RequestOutline;
  readonly streaming = false;
  readonly inputTokens: number;
  readonly detail: JsonObject;
  readonly #ask: DecisionCall;
  readonly #client: DecisionRenderer;
  #reservedSize: DecisionTokenEstimate | undefined;

  constructor(ask: DecisionCall, client: DecisionRenderer, unservedFault?: Requirements["unservedFault"]) {
    this.#ask = ask;
    const size = estimateDecisionTokens(ask, expectedTextTokens);
    this.#client = client;
    this.detail = logDetail(ask);
    this.inputTokens = size.questionTokens.reduce((sum, tokens) => sum + tokens, size.stateTokens);
    this.outline = {
      model: ask.model,
      requirements: {
        needs: [],
        parameters: [],
        inputTokens: this.inputTokens,
        inputTokensFor: (endpoint) => promptTokensAt(endpoint, size),
        maxOutputTokens: ask.questions.length,
        checkFit: (endpoint, model) => missingDecisionCapability(ask, size, endpoint, model),
        unservedFault,
      },
    };
  }

  /** The state is billed once per upstream request. */
  usageBoundAt({ endpoint }: Attempt): UsageBound {
    return {
      inputTokens: promptTokensAt(endpoint, this.#reserved()),
      outputTokens: this.#ask.questions.length * OUTPUT_TOKENS_PER_QUESTION,
    };
  }

  /** The hold needs an upper bound, not the expected size. */
  #reserved(): DecisionTokenEstimate {
    this.#reservedSize ??= estimateDecisionTokens(this.#ask, conservativeTextTokens);
    return this.#reservedSize;
  }

  adapterFor({ endpoint, model }: Attempt): EndpointAdapter {
    return { adapter: decisionsAdapter(this.#ask, { endpoint, model, client: this.#client }), reasoning: undefined };
  }

  referencesProviderState(): boolean {
    return false;
  }
}

function promptTokensAt(endpoint: Endpoint, size: DecisionTokenEstimate): number {
  return tokensPerRequest(size, endpoint).reduce((sum, tokens) => sum + tokens, 0);
}

/** Counts by question type, without content. */
function logDetail({ questions, images }: DecisionCall): JsonObject {
  const count = (type: string) => questions.filter((question) => question.type === type).length;
  const types = Object.fromEntries(
    (["noul", "choice", "score"] as const).flatMap((type) => (count(type) === 0 ? [] : [[type, count(type)] as const])),
  );
  return { questions: questions.length, types, ...(images.length === 0 ? {} : { images: images.length }) };
}
