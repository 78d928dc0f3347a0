import type { Fault } from "../../contract/faults.ts";
import type { Effort } from "../../language/canon/call.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { DecisionRecord } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import type { RouterSpec } from "../tenancy/router.ts";
import type { RecheckRefusal } from "./plan-refusal.ts";
import type { Attempt } from "./reachable-endpoint.ts";

/** A planned request. */
export type Plan = {
  readonly is: "planned";
  /** Best first; more than the attempt limit, because some may be skipped. */
  readonly attempts: readonly Attempt[];
  /** One line for the request log and the response header. */
  readonly reason: string;
  /** `auto` or `@workspace/router`; null for a plain model. */
  readonly router: string | null;
  /** The router's reasoning effort for models that accept one. */
  readonly effort: Effort | null;
  /** Every candidate with its rank or exclusion, computed on demand. */
  decision(): DecisionRecord;
  /** Adds what policy excludes to a fault of the request that only encoding reveals. */
  withPolicyNote(fault: Fault): Fault;
  /** Called right before a connection is used, with the policy in force at that moment. */
  recheckPolicy(endpoint: Endpoint, policy: Policy): RecheckRefusal | undefined;
  /** Called right before a connection is used when the router changed since planning. */
  recheckRouter(attempt: Attempt, spec: RouterSpec): RecheckRefusal | undefined;
};
