import type { Fault } from "../../contract/faults.ts";
import type { BillableExtra } from "../../language/canon/extras.ts";
import type { NeedSource } from "../../language/canon/need.ts";
import type { Parameter } from "../../language/canon/parameters.ts";
import type { Endpoint, Model, Price } from "../catalogue/catalogue.ts";
import type { ExpectedUnits, UnitRates } from "./cost.ts";

export type PricedEndpoint = { readonly endpoint: Endpoint; readonly price: Price; readonly rates: UnitRates };

/** What a request requires of an endpoint. */
export type Requirements = {
  readonly needs: readonly NeedSource[];
  /** Parameters that the caller sent, by their row in the parameter table. */
  readonly parameters: readonly Parameter[];
  /** The same on surfaces that the parameter table does not govern. */
  readonly otherParameters?: readonly string[] | undefined;
  /** Parameters that were sent with a value that requests nothing. */
  readonly neutralParameters?: readonly Parameter[] | undefined;
  readonly parameterNames?: Readonly<Partial<Record<Parameter, string>>> | undefined;
  /** Fields that exist only in the caller's dialect. */
  readonly nativeFields?: readonly string[] | undefined;
  readonly modelChosenBy?: "caller" | "router";
  readonly inputTokens: number;
  /** Set when the input is sent to some endpoints more than once: the total for one of them. */
  readonly inputTokensFor?: ((endpoint: Endpoint) => number) | undefined;
  /** Requested features that providers bill separately. */
  readonly extras?: readonly BillableExtra[] | undefined;
  readonly maxOutputTokens: number | undefined;
  /** `wanted`: the endpoint must support this length. `bound`: an upper limit, and less is acceptable. */
  readonly outputLimitKind?: "wanted" | "bound";
  /** Expected units on surfaces that are not billed by text tokens. */
  readonly billedUnits?: ExpectedUnits | undefined;
  /** Comparisons, holds and charges use the part of the price that applies to the request; absent: all of it. */
  readonly reprice?: (<Row extends PricedEndpoint>(row: Row) => Row) | undefined;
  /** The fault when no endpoint serves the model on this surface; absent: a generic one. */
  readonly unservedFault?: ((modelId: string) => Fault | undefined) | undefined;
  /** Replaces the chat checks on other surfaces. */
  readonly checkFit?: (endpoint: Endpoint, model: Model) => MissingCapability | undefined;
  /** The fault when none of the endpoints that policy allows passes `checkFit`; absent: from the first cause. */
  readonly unfitFault?: (endpoints: readonly Endpoint[]) => Fault | undefined;
};

export type MissingCapability = {
  readonly reason: string;
  readonly param: string;
  /** The fault when every endpoint is excluded; absent: the parameter is reported as unsupported. */
  readonly fault?: Fault;
  /** Absent: `unsupported_parameter`. */
  readonly code?: "invalid_value";
  /** The exceeded limit: of several endpoints, the fault states the highest one. */
  readonly limit?: number;
  /** Set when the prompt alone exceeds this many tokens. */
  readonly contextTokens?: number;
};

/** What an endpoint's dialect can express of a call in the caller's dialect. */
export type DialectSupport = {
  /** The endpoint speaks the caller's dialect, so the provider validates the request itself; absent: never. */
  isNative?(endpoint: Endpoint): boolean;
  /** Unknown fields reach the provider; absent: never. */
  forwardsUnknown?(endpoint: Endpoint, alongside: Pick<Requirements, "needs">): boolean;
  /** The caller's bytes are forwarded without additions; absent: never. */
  isVerbatim?(endpoint: Endpoint): boolean;
  /** Other needs may select the wire format of an endpoint that has two; some accept only default values. */
  takesParameter(
    endpoint: Endpoint,
    parameter: Parameter,
    alongside: Pick<Requirements, "needs" | "neutralParameters">,
  ): boolean;
  takesNeed(endpoint: Endpoint, need: NeedSource["need"], alongside: Pick<Requirements, "needs">): boolean;
};

/** An endpoint and its model with their effective limits; null when unknown. */
export type EndpointWithLimits = {
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
};

export function withLimits(endpoint: Endpoint, model: Model): EndpointWithLimits {
  return {
    endpoint,
    model,
    contextTokens: endpoint.limits.contextTokens ?? model.contextTokens,
    maxOutputTokens: endpoint.limits.maxOutputTokens ?? model.maxOutputTokens,
  };
}
