import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { TokenCounter } from "../../io/tokens/token-counter.ts";
import type { InboundRequest } from "../../io/upstream/upstream-adapter.ts";
import { dialectSupport, maxOutputTokensFor } from "../../io/upstream/upstream-adapters.ts";
import { conservativeTextTokens, expectedTextTokens } from "../../language/canon/estimate.ts";
import { needsOf, referencesStoredResources, usesOneHourCache } from "../../language/canon/needs.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import { omittedToolIndexes } from "./extras.ts";
import type { RequestLimits } from "./gateway-deps.ts";
import type { InferenceRequest, UsageBound } from "./inference-request.ts";
import { countInput, estimateInput, hasNativeContent } from "./input-tokens.ts";
import type { RequestOutline } from "./plan.ts";
import { buildAdapter, chooseReasoning, type EndpointAdapter } from "./reasoning-choice.ts";

/** A request of the chat, messages or responses surface: its call, and the bytes it came in. */
export class ChatInferenceRequest<In extends InboundRequest = InboundRequest> implements InferenceRequest {
  readonly inbound: In;
  readonly inputTokens: number;
  readonly streaming: boolean;
  readonly outline: RequestOutline;
  #reservedTokens: number | undefined;

  constructor(inbound: In, inputTokens = estimateInput(inbound, expectedTextTokens)) {
    this.inbound = inbound;
    const { call } = inbound;
    this.streaming = call.stream;
    this.inputTokens = inputTokens;
    this.outline = chatOutline(inbound, inputTokens);
  }

  async withCountedInput(tokens: TokenCounter): Promise<ChatInferenceRequest<In>> {
    const { inbound } = this;
    // What only a provider can read, only a provider can count.
    const found = hasNativeContent(inbound.call) ? undefined : await countInput(tokens, inbound.call);
    return found === undefined ? this : new ChatInferenceRequest(inbound, found);
  }

  usageBoundAt({ price, endpoint, model }: Attempt, limits: Pick<RequestLimits, "holdOutputTokens">): UsageBound {
    const { call } = this.inbound;
    const limit = call.maxOutputTokens;
    return {
      inputTokens: this.#holdInputTokens(),
      // An effort that a router chose is not told where it would raise the limit.
      outputTokens: limit === undefined ? limits.holdOutputTokens : maxOutputTokensFor(call, limit, endpoint, model),
      cacheTtl: price.cacheWrite1hPer1mTokens && usesOneHourCache(call) ? "1h" : "5m",
      ...(this.#mayBeCompacted(endpoint) ? { prompts: 2 } : {}),
    };
  }

  /** The provider may shorten the conversation before it answers, by a prompt of its own over all of it. */
  #mayBeCompacted(endpoint: Endpoint): boolean {
    const { call, dialect } = this.inbound;
    if (call.compactionThresholdTokens === undefined || this.#holdInputTokens() < call.compactionThresholdTokens)
      return false;
    return dialectSupport(dialect).isNative(endpoint);
  }

  /** A hold is a bound: what is expected is too little for it. */
  #holdInputTokens(): number {
    this.#reservedTokens ??= Math.max(this.inputTokens, estimateInput(this.inbound, conservativeTextTokens));
    return this.#reservedTokens;
  }

  adapterFor(attempt: Attempt, plan: Plan, head: ReplyHead): EndpointAdapter {
    const { endpoint, model } = attempt;
    const wished = chooseReasoning(this.inbound, plan, attempt);
    const excludedTools = omittedToolIndexes(this.inbound.call.extras, attempt);
    return buildAdapter(this.inbound, wished, { endpoint, model, head, excludedTools });
  }

  referencesProviderState(): boolean {
    return referencesStoredResources(this.inbound.call);
  }
}

/** What planning has to know of a call. */
export function chatOutline({ call }: InboundRequest, inputTokens: number): RequestOutline {
  const { model, routingHints, parameters, defaultValued, parameterNames, native, extras, maxOutputTokens } = call;
  const needs = needsOf(call);
  const requirements = {
    needs,
    parameters,
    usual: defaultValued,
    parameterNames,
    native,
    extras,
    inputTokens,
    maxOutputTokens,
  };
  return { model, requirements, routingHints: routingHints };
}
