import type { Policy } from "../tenancy/policy.ts";
import type { ExclusionCause } from "./exclusion.ts";
import { excludedByPolicy, type PolicyClass } from "./policy.ts";

/** What one policy says of endpoints, worked out once for all endpoints of a kind. It lives as long as one plan. */
export class PolicyVerdictCache {
  readonly #policy: Policy;
  readonly #verdicts: { readonly kind: PolicyClass; readonly cause: ExclusionCause | undefined }[] = [];

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  exclusionCauseFor(kind: PolicyClass): ExclusionCause | undefined {
    const known = this.#verdicts[kind.index];
    if (known !== undefined && known.kind === kind) return known.cause;
    const excluded = excludedByPolicy(kind.facts, this.#policy);
    const cause: ExclusionCause | undefined =
      excluded === undefined ? undefined : { stage: "policy", rule: excluded.rule, reason: excluded.reason };
    this.#verdicts[kind.index] = { kind, cause };
    return cause;
  }
}
