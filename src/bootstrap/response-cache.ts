import type { ResponseCacheAdmin } from "../app/manage/deps.ts";
import { ReplyCache } from "../domain/response-cache/reply-cache.ts";
import type { DiskSpace } from "../io/disk-space.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { systemClock } from "../kit/clock.ts";
import { parseDurationMs } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import type { Coordination } from "./coordination.ts";
import type { Storage } from "./store.ts";

type ResponseCacheDeps = {
  readonly storage: Pick<Storage, "store" | "vault">;
  readonly disk: Pick<DiskSpace, "isLow">;
  readonly coordination: Pick<Coordination, "store">;
  readonly log: Logger;
};

/** Undefined: the operator disabled it. */
export function createResponseCache(
  config: Config,
  { storage: { store, vault }, disk, coordination: { store: peers }, log }: ResponseCacheDeps,
): ReplyCache | undefined {
  const { GATEWAY_CACHE_MEMORY_BYTES: memoryBytes, GATEWAY_CACHE_WORKSPACE_MAX_BYTES: workspaceBytes } = config;
  if (memoryBytes === 0) return undefined;
  return new ReplyCache({
    store: store.cachedReplies,
    vault,
    clock: systemClock,
    timers: systemTimers,
    limits: {
      memoryBytes,
      workspaceBytes,
      replyBytes: config.GATEWAY_CACHE_REPLY_MAX_BYTES,
      ttlMs: parseDurationMs(config.GATEWAY_CACHE_TTL_MAX) ?? 0,
    },
    acquireLock: peers?.acquireLock.bind(peers),
    mayWrite: () => workspaceBytes > 0 && !disk.isLow,
    warn: (detail, message) => log.warn(detail, message),
  });
}

/** For the management API. */
export function responseCacheAdmin(
  config: Config,
  { cachedReplies: store }: Pick<Store, "cachedReplies">,
  cache: ReplyCache | undefined,
): ResponseCacheAdmin {
  return {
    maxBytes: config.GATEWAY_CACHE_WORKSPACE_MAX_BYTES,
    ttlMaxSeconds: cache === undefined ? 0 : cache.limits.ttlMs / 1000,
    usage: (workspaceId) => store.usage(workspaceId, systemClock.nowMs()),
    async drop(workspaceId) {
      cache?.drop(workspaceId);
      await cache?.settled();
    },
    purge: (workspaceId) => store.purge(workspaceId),
  };
}
