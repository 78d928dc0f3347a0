import type { Attempt } from "../../domain/routing/attempt.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { TokenCounter } from "../../io/tokens/token-counter.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import type { Exchange } from "../exchange.ts";
import type { RequestLimits } from "./gateway-deps.ts";
import type { RequestOutline } from "./plan.ts";
import type { EndpointAdapter } from "./reasoning-choice.ts";
import type { RequestTrace } from "./request-trace.ts";

/** The most that a request can use: what is reserved for it. `inputTokens` is an estimate, and gets a margin. */
export type UsageBound = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly characters?: number;
  readonly seconds?: number;
  /** The longest time for which something is to be kept in a cache. */
  readonly cacheTtl?: "5m" | "1h";
  /** How many prompts of this size it is; absent: one. */
  readonly prompts?: number;
};

/** A request of any surface, as far as the pipeline has to know it. */
export type InferenceRequest = {
  /** What planning has to know. */
  readonly outline: RequestOutline;
  /** The answer goes out piece by piece, as it is made. */
  readonly streaming: boolean;
  /** The input, estimated: billed where a provider that may be billed by an estimate reports nothing. */
  readonly inputTokens: number;
  /** The same with its input counted, where only the estimate says that it is too long; absent: nobody counts it. */
  readonly withCountedInput?: (tokens: TokenCounter) => Promise<InferenceRequest>;
  /** What the log says of it beside everything that is the same for all: never content. */
  readonly detail?: JsonObject | undefined;
  usageBoundAt(attempt: Attempt, limits: Pick<RequestLimits, "holdOutputTokens">): UsageBound;
  /** The way to one endpoint and back. Throws a fault for what cannot be said to it. */
  adapterFor(attempt: Attempt, plan: Plan, head: ReplyHead): EndpointAdapter;
  /** The request may name things that one provider keeps, and another has never heard of. */
  referencesProviderState(): boolean;
};

/** What the answer of one endpoint says of itself, whatever is in it. */
export function responseHeadFor(
  { receivedAtMs }: Exchange,
  { requestId }: RequestTrace,
  { inputTokens }: InferenceRequest,
  { endpoint }: Attempt,
): ReplyHead {
  return { id: requestId, createdSeconds: Math.floor(receivedAtMs / 1000), model: endpoint.model, inputTokens };
}
