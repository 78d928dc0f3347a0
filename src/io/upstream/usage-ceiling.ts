import {
  NO_CEILING,
  PLAUSIBLE_FACTOR,
  REASONING_ALLOWANCE_TOKENS,
  type UsageCeiling,
} from "../../language/canon/tokens.ts";
import { hasMedia, inputCeiling, maxOutputTokensFor } from "./generation-adapter.ts";
import type { AdapterTarget, InboundRequest } from "./upstream-adapter.ts";

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
