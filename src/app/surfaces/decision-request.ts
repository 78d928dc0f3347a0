import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { Requirements } from "../../domain/routing/capability.ts";
import { decisionsLane } from "../../io/upstream/decisions-adapter.ts";
import type { JsonObject } from "../../kit/json.ts";
import { conservativeTextTokens, expectedTextTokens } from "../../language/canon/estimate.ts";
import {
  type DecisionCall,
  type DecisionTokenEstimate,
  estimateDecisionTokens,
} from "../../language/decisions/call.ts";
import type { DecisionRenderer } from "../../language/decisions/render.ts";
import type { InferenceRequest, UsageBound } from "../pipeline/inference-request.ts";
import type { RequestOutline } from "../pipeline/plan.ts";
import type { EndpointAdapter } from "../pipeline/reasoning-choice.ts";
import { requestsFor, unfitFor } from "./decision-fit.ts";

/** What a provider may count as written for one question, where it counts anything. */
const OUTPUT_TOKENS_PER_QUESTION = 32;

/** Typed questions about a state. */
export class DecisionsErrand implements InferenceRequest {
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
    this.detail = detailOf(ask);
    this.inputTokens = size.questionTokens.reduce((sum, tokens) => sum + tokens, size.stateTokens);
    this.outline = {
      model: ask.model,
      requirements: {
        needs: [],
        parameters: [],
        inputTokens: this.inputTokens,
        inputTokensFor: (endpoint) => readBy(endpoint, size),
        maxOutputTokens: ask.questions.length,
        checkFit: (endpoint, model) => unfitFor(ask, size, endpoint, model),
        unservedFault,
      },
    };
  }

  /** The state is read once for each request that it is sent with. */
  usageBoundAt({ endpoint }: Attempt): UsageBound {
    return {
      inputTokens: readBy(endpoint, this.#reserved()),
      outputTokens: this.#ask.questions.length * OUTPUT_TOKENS_PER_QUESTION,
    };
  }

  /** A hold is a bound: what is expected is too little for it. */
  #reserved(): DecisionTokenEstimate {
    this.#reservedSize ??= estimateDecisionTokens(this.#ask, conservativeTextTokens);
    return this.#reservedSize;
  }

  adapterFor({ endpoint, model }: Attempt): EndpointAdapter {
    return { adapter: decisionsLane(this.#ask, { endpoint, model, client: this.#client }), reasoning: undefined };
  }

  referencesProviderState(): boolean {
    return false;
  }
}

function readBy(endpoint: Endpoint, size: DecisionTokenEstimate): number {
  return requestsFor(size, endpoint).reduce((sum, tokens) => sum + tokens, 0);
}

/** The number of questions and their types: nothing of what they say. */
function detailOf({ questions, images }: DecisionCall): JsonObject {
  const count = (type: string) => questions.filter((question) => question.type === type).length;
  const types = Object.fromEntries(
    (["noul", "choice", "score"] as const).flatMap((type) => (count(type) === 0 ? [] : [[type, count(type)] as const])),
  );
  return { questions: questions.length, types, ...(images.length === 0 ? {} : { images: images.length }) };
}
