import type { KeyRef, RateWindowVerdict } from "../../../domain/admission/shared-state.ts";
import type { Names } from "./key-space.ts";
import type { Connection } from "./redis-connection.ts";
import { redisUnavailable } from "./redis-errors.ts";
import { listOf, textOf } from "./redis-replies.ts";
import type { RedisSettings } from "./redis-state.ts";
import type { Owed } from "./retry-queue.ts";
import { WINDOW } from "./window-scripts.ts";

type Deps = Pick<RedisSettings, "newToken"> & {
  readonly connection: Connection;
  readonly names: Names;
  readonly owed: Owed;
  /** Empty: that of Redis. */
  readonly time: () => string;
};

/** The windows of keys, and the versions of what their workspaces are. */
export class Windows {
  readonly #deps: Deps;
  /** What makes its tokens unlike those of every other instance. */
  readonly #own: string;
  #tokens = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#own = deps.newToken();
  }

  async ask({ id, workspaceId }: KeyRef, limit: number, how: "count" | "look"): Promise<RateWindowVerdict> {
    const { connection, names, time } = this.#deps;
    const keys = [names.window(workspaceId, id), names.version(workspaceId)];
    const args = [String(limit), how === "count" ? "1" : "0", this.#token(), time()];
    let reply: unknown;
    try {
      reply = await connection.run(WINDOW, keys, args);
    } catch (error) {
      throw redisUnavailable(error);
    }
    const [allowed, remaining, resetAtMs, waitMs, version] = listOf(reply);
    return {
      isAllowed: allowed === 1,
      limit,
      remaining: Number(remaining),
      resetAtMs: Number(resetAtMs),
      waitMs: Number(waitMs),
      version: textOf(version),
    };
  }

  /** Where Redis is away nobody is admitted; the new version is there before anybody is again, or soon after. */
  async touch(workspaceId: string): Promise<void> {
    const { connection, names, owed } = this.#deps;
    const name = `touch ${workspaceId}`;
    await owed.add(name, async () => {
      // Another one each time: written again, the same would hide what was changed in between.
      await connection.send(["SET", names.version(workspaceId), this.#token()]);
      return "done";
    });
    if (owed.has(name)) throw redisUnavailable("the new version waits");
  }

  /** One that nobody has used before. */
  #token(): string {
    this.#tokens += 1;
    return `${this.#own}.${this.#tokens}`;
  }
}
