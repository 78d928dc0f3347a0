import type { Fault } from "../../contract/faults.ts";
import type { CurrencyTable } from "../../domain/billing/charge.ts";
import type { Margin } from "../../domain/billing/margin.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { Requirements } from "../../domain/routing/requirements.ts";
import type { TokenCounter } from "../../io/tokens/token-counter.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { TextLimits } from "../../kit/json-size.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import type { Effort } from "../../language/canon/call.ts";
import type { BillableExtra } from "../../language/canon/extras.ts";
import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import type { Exchange, ResponseSink } from "../exchange.ts";
import type { RequestLimits } from "./gateway-deps.ts";

/** The part of a request that planning reads; it contains no content. */
export type RequestOutline = {
  readonly model: string;
  readonly requirements: Omit<Requirements, "modelChosenBy" | "outputLimitKind">;
  readonly routingHints?: RoutingHints | undefined;
};

/** Upper bound of what a request can use, for its hold. `inputTokens` is an estimate and gets a margin. */
export type UsageBound = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly characters?: number;
  readonly seconds?: number;
  readonly images?: number;
  readonly searchUnits?: number;
  /** The longest cache lifetime that the request asks for. */
  readonly cacheTtl?: "5m" | "1h";
  /** Number of prompts of this size; absent: one. */
  readonly prompts?: number;
};

/** Which party chose the reasoning effort of one attempt. */
export type ReasoningChoice =
  | { readonly by: "caller" | "router"; readonly effort: Effort }
  /** The router chose an effort that this endpoint does not accept. */
  | { readonly by: "provider_default" };

/** The adapter of one attempt. */
export type EndpointAdapter = { readonly adapter: UpstreamAdapter; readonly reasoning: ReasoningChoice | undefined };

/** A request of any surface, as the pipeline sees it. */
export type InferenceRequest = {
  readonly outline: RequestOutline;
  readonly streaming: boolean;
  /** Estimated; billed when the provider reports no usage. */
  readonly inputTokens: number;
  /** Returns the request with exact token counts, for an input that only its estimate makes too long. */
  readonly withCountedInput?: (tokens: TokenCounter) => Promise<InferenceRequest>;
  /** Surface-specific fields of the log record; never content. */
  readonly detail?: JsonObject | undefined;
  usageBoundAt(attempt: Attempt, limits: Pick<RequestLimits, "holdOutputTokens">): UsageBound;
  /** Throws a fault when the request cannot be encoded for the endpoint. Without `text` replies have the default limits. */
  adapterFor(attempt: Attempt, plan: Plan, head: ReplyHead, text?: TextLimits): EndpointAdapter;
  /** What endpoints receive of the request, as JSON: every string in it is inspected for data classes. */
  content(): unknown;
  /** True when the request may reference files or other state that only one provider stores. */
  referencesProviderState(): boolean;
};

/** Pricing inputs of a request besides the endpoint's price. */
export type PricingTerms = {
  readonly currencies: CurrencyTable;
  readonly margin: Margin;
  /** Requested features that are billed separately. */
  readonly extras: readonly BillableExtra[] | undefined;
  /** Only with an output limit the hold is an upper bound. */
  readonly hasOutputLimit: boolean;
};

/** A decoded request with the hooks of its surface. */
export type DecodedRequest = {
  readonly request: InferenceRequest;
  /** Where the response goes; absent: the connection of the request. */
  readonly sink?: ResponseSink;
  /** Called after admission and before the first attempt. */
  readonly onAdmitted?: () => Promise<void>;
  /** Gets a complete response before it is settled; must not fail. */
  readonly beforeSettle?: (final: string) => Promise<void>;
  /** Gets the complete response as JSON, after settlement and before its last bytes are sent; must not fail. */
  readonly storeResponse?: (final: string, headers: Readonly<Record<string, string>>) => Promise<void>;
  /** Rewrites canonical parameter names in a fault to those of the caller's dialect. */
  readonly toCallerParameterNames?: (problem: Fault) => Fault;
};

export type ReceivedRequest = {
  /** The part that logs and capture windows may see; of an upload only its fields. */
  readonly loggableBody: Buffer;
  /** Identifies retries of the same request under one idempotency key. */
  readonly requestFingerprint: Buffer;
  decode(): MaybePromise<DecodedRequest>;
  /** Called once at the end of the request, however it ended. */
  dispose?(): void;
};

/** How a surface reads its request: from a buffered body, or from an upload. */
export type RequestSource =
  | ((body: Buffer, exchange: Exchange) => MaybePromise<DecodedRequest>)
  | { readonly upload: (exchange: Exchange) => Promise<ReceivedRequest> };
