import type { Policy } from "../tenancy/policy.ts";
import type { Cause } from "./fallen.ts";
import { excludedByPolicy, type Kind } from "./policy.ts";

/** What one policy says of endpoints, worked out once for all endpoints of a kind. It lives as long as one plan. */
export class PolicyVerdicts {
  readonly #policy: Policy;
  readonly #known: { readonly kind: Kind; readonly cause: Cause | undefined }[] = [];

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  causeFor(kind: Kind): Cause | undefined {
    const known = this.#known[kind.number];
    if (known !== undefined && known.kind === kind) return known.cause;
    const excluded = excludedByPolicy(kind.conduct, this.#policy);
    const cause: Cause | undefined =
      excluded === undefined ? undefined : { stage: "policy", rule: excluded.rule, reason: excluded.reason };
    this.#known[kind.number] = { kind, cause };
    return cause;
  }
}
