import * as cache from "../../schemas/manage-cache.ts";
import { managed } from "../managed.ts";

const CACHE = "/manage/workspaces/{workspace}/cache";

export const CACHE_ROUTES = [
  managed({
    id: "manageShowCache",
    method: "GET",
    path: CACHE,
    allows: "member",
    tag: "Response cache",
    summary: "Show the size of the response cache",
    description: "Whether replies are cached is a rule of the policy.",
    answer: cache.CacheView,
    example: {
      answer: {
        workspace: "research",
        replies: 120,
        used_bytes: 402_118,
        max_bytes: 268_435_456,
        ttl_max: 604_800,
      },
    },
  }),
  managed({
    id: "managePurgeCache",
    method: "DELETE",
    path: CACHE,
    allows: "admin",
    tag: "Response cache",
    summary: "Delete all cached replies of a workspace",
    description: "From the next request on, no reply from before serves any request.",
    answer: cache.CachePurged,
    example: { answer: { workspace: "research", deleted: 120 } },
  }),
];
