import type { CacheRule } from "../../../domain/tenancy/cache-rule.ts";
import type { AdmittedRequest } from "../planned-request.ts";

/** A planned request whose policy, or which itself, states something about the cache. It holds nothing yet. */
export type CacheableRequest = Omit<AdmittedRequest, "deadlineMs"> & {
  readonly cacheRule: CacheRule;
  /** As it was received. */
  readonly body: Buffer;
};
