import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { Call } from "../../language/canon/call.ts";
import type { Part } from "../../language/canon/parts.ts";
import {
  NO_CEILING,
  PLAUSIBLE_FACTOR,
  REASONING_ALLOWANCE_TOKENS,
  SEARCH_ALLOWANCE_TOKENS,
  type UsageCeiling,
} from "../../language/canon/tokens.ts";
import { modelFactsFor } from "./model-facts.ts";
import type { AdapterTarget, InboundRequest } from "./upstream-adapter.ts";
import { generationAdapterOf } from "./upstream-adapters.ts";

/**
 * The usage that a provider can plausibly report for a request. There is no ceiling with provider-run tools or uploaded
 * files: the provider may read and write any number of tokens then.
 */
export function usageCeilingFor(
  { call, body }: InboundRequest,
  { endpoint, model, head }: AdapterTarget,
): UsageCeiling {
  if ([call.native, call.extras, call.uploadPaths].some((items) => items !== undefined && items.length > 0))
    return NO_CEILING;
  const modelMax = endpoint.limits.maxOutputTokens ?? model.maxOutputTokens ?? Infinity;
  const limit = call.maxOutputTokens;
  const requested = limit === undefined ? modelMax : Math.max(limit, maxOutputTokensFor(call, limit, endpoint, model));
  return {
    inputTokens: hasMedia(call) ? Infinity : inputCeiling(body.text.length, head.inputTokens),
    visibleOutputTokens: PLAUSIBLE_FACTOR * requested + REASONING_ALLOWANCE_TOKENS,
    outputTokens: PLAUSIBLE_FACTOR * Math.max(requested, modelMax) + REASONING_ALLOWANCE_TOKENS,
  };
}

const CHARS_PER_TOKEN = 4;

/** The estimate includes earlier turns of a stored conversation, which the body may only reference. */
function inputCeiling(chars: number, estimatedTokens: number): number {
  return PLAUSIBLE_FACTOR * (chars + CHARS_PER_TOKEN * estimatedTokens) + SEARCH_ALLOWANCE_TOKENS;
}

function hasMedia({ turns }: Call): boolean {
  return turns.some(({ parts }) => parts.some(isMedia));
}

/** Runs at the end of every request, so it only tests for presence. */
function isMedia(part: Part): boolean {
  if (part.is === "tool_result") return part.content.some(isMedia);
  return part.is === "image" || part.is === "audio" || part.is === "file";
}

/** The most output tokens that an endpoint generates for a call with an output limit. */
export function maxOutputTokensFor(call: Call, limit: number, endpoint: Endpoint, model: Model): number {
  const modelMax = endpoint.limits.maxOutputTokens ?? model.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const requested = Math.min(limit, modelMax);
  if (call.reasoning === undefined) return requested;
  const facts = modelFactsFor(endpoint, model);
  const withReasoning = generationAdapterOf(endpoint)?.dialect.outputTokensMax?.(call, requested, facts) ?? requested;
  return Math.min(withReasoning, modelMax);
}
