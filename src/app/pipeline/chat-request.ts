import { type Endpoint, isExtraPriced } from "../../domain/catalogue/catalogue.ts";
import { acceptsEffort } from "../../domain/routing/need-support.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { TokenCounter } from "../../io/tokens/token-counter.ts";
import { DIALECT_SUPPORT, isEffortConflicting } from "../../io/upstream/dialect-support.ts";
import { adapterFor, maxOutputTokensFor } from "../../io/upstream/generation-adapter.ts";
import type { AdapterTarget, InboundRequest } from "../../io/upstream/upstream-adapter.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { TextLimits } from "../../kit/json-size.ts";
import type { Call } from "../../language/canon/call.ts";
import { usesOneHourCache } from "../../language/canon/call.ts";
import type { BillableExtra } from "../../language/canon/extras.ts";
import { estimateJsonTokens } from "../../language/canon/json-token-estimate.ts";
import { needsOf, referencesStoredResources } from "../../language/canon/needs.ts";
import { setsSampling } from "../../language/canon/sampling.ts";
import {
  conservativeTextTokens,
  estimateInputTokens,
  expectedTextTokens,
  type TextTokenEstimator,
} from "../../language/canon/tokens.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import { countInput } from "./count-input.ts";
import type { RequestLimits } from "./gateway-deps.ts";
import type {
  EndpointAdapter,
  InferenceRequest,
  ReasoningChoice,
  RequestOutline,
  UsageBound,
} from "./inference-request.ts";
import { inspectedContent } from "./inspected-content.ts";
import { adapterWithEffort, withEffort } from "./router-effort.ts";

/** A request of the chat, messages or responses surface. */
export class ChatInferenceRequest<In extends InboundRequest = InboundRequest> implements InferenceRequest {
  readonly inbound: In;
  readonly inputTokens: number;
  readonly streaming: boolean;
  readonly outline: RequestOutline;
  #conservativeInputTokens: number | undefined;

  constructor(inbound: In, inputTokens = estimateInput(inbound, expectedTextTokens)) {
    this.inbound = inbound;
    const { call } = inbound;
    this.streaming = call.stream;
    this.inputTokens = inputTokens;
    this.outline = chatOutline(inbound, inputTokens);
  }

  async withCountedInput(tokens: TokenCounter): Promise<ChatInferenceRequest<In>> {
    const { inbound } = this;
    // Content that only the provider's dialect can represent cannot be counted here.
    const counted = hasNativeContent(inbound.call) ? undefined : await countInput(tokens, inbound.call);
    return counted === undefined ? this : new ChatInferenceRequest(inbound, counted);
  }

  usageBoundAt({ price, endpoint, model }: Attempt, limits: Pick<RequestLimits, "holdOutputTokens">): UsageBound {
    const { call } = this.inbound;
    const limit = call.maxOutputTokens;
    return {
      inputTokens: this.#holdInputTokens(),
      // The router's effort is omitted when it would raise this limit.
      outputTokens: limit === undefined ? limits.holdOutputTokens : maxOutputTokensFor(call, limit, endpoint, model),
      cacheTtl: price.cacheWrite1hPer1mTokens && usesOneHourCache(call) ? "1h" : "5m",
      ...(this.#mayBeCompacted(endpoint) ? { prompts: 2 } : {}),
    };
  }

  /** Compaction at the provider costs a second prompt over the whole conversation. */
  #mayBeCompacted(endpoint: Endpoint): boolean {
    const { call, dialect } = this.inbound;
    if (call.compactionThresholdTokens === undefined || this.#holdInputTokens() < call.compactionThresholdTokens)
      return false;
    return DIALECT_SUPPORT[dialect].isNative?.(endpoint) === true;
  }

  /** The hold needs an upper bound, not the expected size. */
  #holdInputTokens(): number {
    this.#conservativeInputTokens ??= Math.max(this.inputTokens, estimateInput(this.inbound, conservativeTextTokens));
    return this.#conservativeInputTokens;
  }

  adapterFor(attempt: Attempt, plan: Plan, head: ReplyHead, text?: TextLimits): EndpointAdapter {
    const { endpoint, model } = attempt;
    const reasoning = chooseReasoning(this.inbound, plan, attempt);
    const excludedTools = excludedToolIndexes(this.inbound.call.extras, attempt);
    return buildAdapter(this.inbound, reasoning, { endpoint, model, head, text, excludedTools });
  }

  content(): unknown {
    return inspectedContent(this.inbound, providerVisibleBody(this.inbound));
  }

  referencesProviderState(): boolean {
    return referencesStoredResources(this.inbound.call);
  }
}

export function chatOutline({ call }: InboundRequest, inputTokens: number): RequestOutline {
  const { model, routingHints, parameters, neutralParameters, parameterNames, native, extras, maxOutputTokens } = call;
  const { unknownField } = call;
  const requirements: RequestOutline["requirements"] = {
    needs: needsOf(call),
    parameters,
    neutralParameters,
    parameterNames,
    nativeFields: unknownField === undefined ? native : [unknownField],
    extras,
    inputTokens,
    maxOutputTokens,
  };
  return { model, requirements, routingHints };
}

/** The caller's effort wins; otherwise the router's effort applies where the endpoint accepts it. */
export function chooseReasoning(inbound: InboundRequest, plan: Plan, attempt: Attempt): ReasoningChoice | undefined {
  const { call, dialect } = inbound;
  if (call.reasoning !== undefined) return { by: "caller", effort: call.reasoning.effort };
  const { effort } = plan;
  if (effort === null) return undefined;
  const { endpoint, model } = attempt;
  const target: Omit<AdapterTarget, "head"> = {
    endpoint,
    model,
    excludedTools: excludedToolIndexes(call.extras, attempt),
  };
  const isAccepted =
    acceptsEffort(
      attempt,
      { effort, withTools: call.tools.length > 0, sampled: setsSampling(call) },
      DIALECT_SUPPORT[dialect],
    ) && !isEffortConflicting(withEffort(inbound, effort), target);
  return isAccepted ? { by: "router", effort } : { by: "provider_default" };
}

function buildAdapter(
  inbound: InboundRequest,
  reasoning: ReasoningChoice | undefined,
  target: AdapterTarget,
): EndpointAdapter {
  if (reasoning?.by === "router") return adapterWithEffort(inbound, reasoning, target);
  return { adapter: adapterFor(inbound, target), reasoning };
}

/** Indexes in `tools` of optional extras that the endpoint has no price for. With an own key nothing is charged, so all are sent. */
function excludedToolIndexes(
  extras: readonly BillableExtra[] | undefined,
  attempt: Attempt,
): readonly number[] | undefined {
  if (extras === undefined || attempt.ownKey !== undefined) return undefined;
  const indexes = extras.flatMap(({ toolIndex, name }) =>
    toolIndex === undefined || isExtraPriced(attempt.price, name) ? [] : [toolIndex],
  );
  return indexes.length === 0 ? undefined : indexes;
}

/** Includes content that only the provider's dialect can represent. */
export function estimateInput(inbound: InboundRequest, textTokens: TextTokenEstimator): number {
  const { call } = inbound;
  const estimate = estimateInputTokens(call, toolsLength(inbound), textTokens);
  return hasNativeContent(call)
    ? Math.max(estimate, estimateJsonTokens(providerVisibleBody(inbound), textTokens))
    : estimate;
}

/** True when a part of the request has no canonical form. */
function hasNativeContent({ native }: Call): boolean {
  return native !== undefined && native.length > 0;
}

/** The body as an endpoint of the caller's own dialect receives it. */
function providerVisibleBody(inbound: InboundRequest): JsonObject {
  const { value } = inbound.body;
  return inbound.dialect === "responses" ? { ...value, input: inbound.items } : value;
}

function toolsLength({ body }: InboundRequest): number {
  const span = body.members.get("tools");
  return span === undefined ? 0 : span.valueEnd - span.valueStart;
}
