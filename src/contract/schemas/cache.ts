import { z } from "zod";

/** 30 days. */
const CACHE_TTL_SECONDS_MAX = 2_592_000;

const ttl = z
  .int(`must be a whole number of seconds from 0 to ${CACHE_TTL_SECONDS_MAX}`)
  .min(0, `must be a whole number of seconds from 0 to ${CACHE_TTL_SECONDS_MAX}`)
  .max(CACHE_TTL_SECONDS_MAX, `must be a whole number of seconds from 0 to ${CACHE_TTL_SECONDS_MAX}`);
const TTL =
  "Seconds for which a reply serves identical requests; a reply that is older is not used. 0: no cache. The operator may set a lower maximum.";
const COALESCE =
  "Identical requests that run at the same time wait for the first one and get its reply. If that one fails, the next one runs.";

/** What a request can ask of the response cache. */
export const CacheWish = z
  .strictObject({
    ttl: ttl.nullish().describe(TTL),
    coalesce: z.boolean().nullish().describe(COALESCE),
  })
  .meta({
    id: "CacheWish",
    description:
      "Replaces what the policy states for this request. Refused where the workspace or zero retention forbids it.",
  });

const settings = {
  ttl: ttl.optional().meta({ description: TTL }),
  coalesce: z.boolean().optional().meta({ description: COALESCE }),
};

/** Of a key or router: what it leaves open stays as its workspace states it. */
export const CacheSettings = z.strictObject(settings).meta({
  id: "CacheSettings",
  description: "The response cache; an omitted setting stays as the workspace states it.",
});

export const WorkspaceCacheSettings = z
  .strictObject({
    ...settings,
    requests: z
      .enum(["allow", "forbid"])
      .optional()
      .meta({ description: "`forbid`: requests cannot ask for the cache themselves. Set by workspaces only." }),
  })
  .meta({ id: "WorkspaceCacheSettings", description: "The response cache of a workspace." });
