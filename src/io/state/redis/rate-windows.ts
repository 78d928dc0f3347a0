import type { KeyRef, RateWindowVerdict } from "../../../domain/admission/shared-state.ts";
import type { KeySpace } from "./key-space.ts";
import { luaScript } from "./lua-script.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { redisUnavailable } from "./redis-errors.ts";
import { listReply, textReply } from "./redis-replies.ts";
import type { RedisSettings } from "./redis-state.ts";
import type { RetryQueue } from "./retry-queue.ts";

/**
 * A sliding 60-second window: a list of call times in microseconds of Redis' clock, oldest first. When that clock is set
 * back, time stands still until it catches up; when it is set back by more than a window, the window starts over.
 * ARGV: limit, whether to count the call, a version for a workspace without one, time.
 */
const WINDOW = luaScript(`
local WINDOW_US = 60000000
local limit, counts = tonumber(ARGV[1]), ARGV[2] == '1'
local now
if ARGV[4] ~= '' then now = ARGV[4] * 1000
else
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local last = tonumber(redis.call('LINDEX', KEYS[1], -1) or now)
if last > now + WINDOW_US then redis.call('DEL', KEYS[1])
elseif last > now then now = last end
local first = redis.call('LINDEX', KEYS[1], 0)
while first and tonumber(first) <= now - WINDOW_US do
  redis.call('LPOP', KEYS[1])
  first = redis.call('LINDEX', KEYS[1], 0)
end
local counted = redis.call('LLEN', KEYS[1])
local allowed, remaining, resets = 1, limit - counted, now
if counted >= limit then
  allowed, remaining = 0, 0
  resets = tonumber(redis.call('LINDEX', KEYS[1], counted - limit) or now) + WINDOW_US
elseif counts then
  redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[1], 61000)
  remaining = remaining - 1
  resets = tonumber(first or now) + WINDOW_US
elseif first then
  resets = tonumber(first) + WINDOW_US
end
local version = redis.call('GET', KEYS[2])
if not version then
  version = ARGV[3]
  redis.call('SET', KEYS[2], version)
end
return { allowed, remaining, math.ceil(resets / 1000), math.ceil((resets - now) / 1000), version }
`);

type RateWindowsDeps = Pick<RedisSettings, "newToken"> & {
  readonly connection: RedisConnection;
  readonly keys: KeySpace;
  readonly retries: RetryQueue;
  readonly scriptTime: () => string;
};

/** Rate windows of API keys. Each reply also carries the version of the workspace's configuration. */
export class RedisRateWindows {
  readonly #deps: RateWindowsDeps;
  /** Makes the versions of this process unique among all instances. */
  readonly #versionPrefix: string;
  #versions = 0;

  constructor(deps: RateWindowsDeps) {
    this.#deps = deps;
    this.#versionPrefix = deps.newToken();
  }

  consume(key: KeyRef, limit: number): Promise<RateWindowVerdict> {
    return this.#run(key, limit, "1");
  }

  peek(key: KeyRef, limit: number): Promise<RateWindowVerdict> {
    return this.#run(key, limit, "0");
  }

  async #run({ id, workspaceId }: KeyRef, limit: number, counts: "0" | "1"): Promise<RateWindowVerdict> {
    const { connection, keys, scriptTime } = this.#deps;
    const windowKeys = [keys.rateWindow(workspaceId, id), keys.version(workspaceId)];
    const args = [String(limit), counts, this.#newVersion(), scriptTime()];
    let reply: unknown;
    try {
      reply = await connection.run(WINDOW, windowKeys, args);
    } catch (error) {
      throw redisUnavailable(error);
    }
    const [allowed, remaining, resetAtMs, waitMs, version] = listReply(reply);
    return {
      isAllowed: allowed === 1,
      limit,
      remaining: Number(remaining),
      resetAtMs: Number(resetAtMs),
      waitMs: Number(waitMs),
      version: textReply(version),
    };
  }

  /** Rejects while Redis does not answer, although the new version is queued: no request is admitted meanwhile. */
  async bumpVersion(workspaceId: string): Promise<void> {
    const { connection, keys, retries } = this.#deps;
    const step = `touch ${workspaceId}`;
    await retries.add(step, async () => {
      // A retry needs a new value: the old one would hide a change that another instance made in between.
      await connection.send(["SET", keys.version(workspaceId), this.#newVersion()]);
      return "done";
    });
    if (retries.has(step)) throw redisUnavailable("the new version is queued");
  }

  #newVersion(): string {
    this.#versions += 1;
    return `${this.#versionPrefix}.${this.#versions}`;
  }
}
