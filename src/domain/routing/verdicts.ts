import type { Policy } from "../tenancy/policy.ts";
import type { ExclusionCause } from "./exclusion.ts";
import { excludedByPolicy, type PolicyClass } from "./policy.ts";

/** What one policy says of endpoints, worked out once for all endpoints of a kind. It lives as long as one plan. */
export class PolicyVerdictCache {
  readonly #policy: Policy;
  readonly #known: { readonly kind: PolicyClass; readonly cause: ExclusionCause | undefined }[] = [];

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  causeFor(kind: PolicyClass): ExclusionCause | undefined {
    const known = this.#known[kind.number];
    if (known !== undefined && known.kind === kind) return known.cause;
    const excluded = excludedByPolicy(kind.conduct, this.#policy);
    const cause: ExclusionCause | undefined =
      excluded === undefined ? undefined : { stage: "policy", rule: excluded.rule, reason: excluded.reason };
    this.#known[kind.number] = { kind, cause };
    return cause;
  }
}
