import type { Endpoint, Model, Price } from "../catalogue/catalogue.ts";
import type { WorkspaceNode } from "../tenancy/node.ts";
import type { OwnKey } from "../tenancy/own-key.ts";
import type { UnitRates } from "./cost.ts";
import type { PolicyClass } from "./policy.ts";
import type { EndpointWithLimits } from "./requirements.ts";

/** One of the workspace's own machines. */
export type NodeRef = Pick<WorkspaceNode, "id" | "workspaceId" | "name"> & {
  /** Another instance holds the connection and relays requests to it. */
  readonly isRemote: boolean;
};

/** One endpoint to try, with everything needed to call and bill it. */
export type Attempt = {
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly price: Price;
  readonly baseUrl: string;
  /** Set when the endpoint is called with the workspace's own key; such a request is not charged. */
  readonly ownKey?: OwnKey | undefined;
  /** Set when the endpoint is one of the workspace's own machines; such a request is not charged. */
  readonly node?: NodeRef | undefined;
};

/** An endpoint that can be called now, with the data every plan needs. */
export type ReachableEndpoint = EndpointWithLimits &
  Attempt & {
    /** The price in the wallet's currency. */
    readonly rates: UnitRates;
    readonly policyClass: PolicyClass;
  };

/** The reachable endpoints of one model, and why the others are not. */
export type ModelReachability = {
  readonly endpoints: readonly ReachableEndpoint[];
  readonly obstacles: readonly string[];
};

export type ReachableModel = { readonly model: Model; readonly endpoints: readonly ReachableEndpoint[] };
