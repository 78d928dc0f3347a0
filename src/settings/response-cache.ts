import { duration, integer, setting } from "./setting-types.ts";

/** Replies that serve identical requests of their workspace. */
export const RESPONSE_CACHE_SETTINGS = {
  GATEWAY_CACHE_MEMORY_BYTES: setting(
    integer(0, 1_099_511_627_776),
    64 * 1024 * 1024,
    "Memory of one process for cached replies; see the guide on the response cache. 0 disables the cache.",
  ),
  GATEWAY_CACHE_WORKSPACE_MAX_BYTES: setting(
    integer(0, 1_000_000_000_000_000),
    256 * 1024 * 1024,
    "Total size of the cached replies of one workspace in the store; beyond it the oldest ones are removed. 0: they are in memory only.",
  ),
  GATEWAY_CACHE_REPLY_MAX_BYTES: setting(
    integer(1024, 67_108_864),
    1024 * 1024,
    "Largest reply of a provider, and largest request, that is cached.",
  ),
  GATEWAY_CACHE_TTL_MAX: setting(
    duration,
    "7d",
    "Longest time for which a reply serves identical requests, whatever policies and requests ask for; at most 30 days.",
  ),
} as const;
