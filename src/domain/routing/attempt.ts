import type { Endpoint, Model, Price } from "../catalogue/catalogue.ts";
import type { WorkspaceNode } from "../tenancy/node.ts";
import type { OwnKey } from "../tenancy/own-key.ts";

/** A machine of the workspace's own. */
export type NodeRef = Pick<WorkspaceNode, "id" | "workspaceId" | "name"> & {
  /** Its connection is held by another instance, which passes on what it is asked. */
  readonly isRemote: boolean;
};

/** One endpoint that may be tried, with what is needed to try and to bill it. */
export type Attempt = {
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly price: Price;
  readonly baseUrl: string;
  /** The workspace's own key, where the endpoint is called with that one: nothing is charged then. */
  readonly ownKey?: OwnKey | undefined;
  /** The workspace's own machine, where the endpoint is one: nothing is charged there either. */
  readonly node?: NodeRef | undefined;
};

/** Whether it is the workspace's own, key or machine: that needs no wallet. */
export function isOwnResource({ ownKey, node }: Attempt): boolean {
  return ownKey !== undefined || node !== undefined;
}
