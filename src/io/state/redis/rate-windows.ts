import type { KeyRef, RateWindowVerdict } from "../../../domain/admission/shared-state.ts";
import type { KeySpace } from "./key-space.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { redisUnavailable } from "./redis-errors.ts";
import { textReply } from "./redis-replies.ts";
import type { EntryReply, RequestBatches } from "./request-batches.ts";
import type { RetryQueue } from "./retry-queue.ts";

type RateWindowsDeps = {
  readonly connection: Pick<RedisConnection, "send">;
  readonly keys: KeySpace;
  readonly retries: RetryQueue;
  readonly batches: RequestBatches;
};

/** Rate windows of API keys. Each reply also carries the version of the workspace's configuration. */
export class RedisRateWindows {
  readonly #deps: RateWindowsDeps;

  constructor(deps: RateWindowsDeps) {
    this.#deps = deps;
  }

  consume(key: KeyRef, limit: number): Promise<RateWindowVerdict> {
    return this.#run(key, limit, "");
  }

  peek(key: KeyRef, limit: number): Promise<RateWindowVerdict> {
    return this.#run(key, limit, "p");
  }

  async #run({ id, workspaceId }: KeyRef, limit: number, prefix: "" | "p"): Promise<RateWindowVerdict> {
    let reply: EntryReply;
    try {
      reply = await this.#deps.batches.countCall(workspaceId, [id, `${prefix}${limit}`]);
    } catch (error) {
      throw redisUnavailable(error);
    }
    const [remaining, resetUs, version, nowUs] = reply;
    return {
      isAllowed: Number(remaining) >= 0,
      limit,
      remaining: Math.max(0, Number(remaining)),
      resetAtMs: Math.ceil(Number(resetUs) / 1000),
      waitMs: Math.ceil((Number(resetUs) - Number(nowUs)) / 1000),
      version: textReply(version),
    };
  }

  /** Rejects while Redis does not answer, although the new version is queued: no request is admitted meanwhile. */
  async bumpVersion(workspaceId: string): Promise<void> {
    const { connection, keys, retries, batches } = this.#deps;
    const step = `touch ${workspaceId}`;
    await retries.add(step, async () => {
      // A retry needs a new value: the old one would hide a change that another instance made in between.
      await connection.send(["SET", keys.version(workspaceId), batches.newVersion()]);
      return "done";
    });
    if (retries.has(step)) throw redisUnavailable("the new version is queued");
  }
}
