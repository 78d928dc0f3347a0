import { z } from "zod";

export const CacheView = z
  .object({
    workspace: z.string(),
    replies: z.int().meta({ description: "Cached replies in the store." }),
    used_bytes: z.int().meta({ description: "Their total size." }),
    max_bytes: z.int().meta({ description: "Maximum total size; beyond it the oldest ones are removed." }),
    ttl_max: z.int().meta({
      description: "Longest lifetime in seconds that the operator allows. 0: the operator disabled the cache.",
    }),
  })
  .meta({ id: "ResponseCache", description: "Size of the response cache; its content is never shown." });

export const CachePurged = z
  .object({ workspace: z.string(), deleted: z.int().meta({ description: "Number of deleted replies." }) })
  .meta({ id: "CachePurged" });
