import { z } from "zod";
import type { Names } from "./key-space.ts";
import type { Connection } from "./redis-connection.ts";
import { listOf, textOrNone } from "./redis-replies.ts";
import type { IsRequestWanted, RedisSettings } from "./redis-state.ts";
import type { RedisWallets } from "./redis-wallets.ts";
import type { Owed } from "./retry-queue.ts";

type Deps = Pick<RedisSettings, "instanceId" | "retiredInstanceIds" | "holdMaxMs" | "testTimeMs"> & {
  readonly connection: Connection;
  readonly names: Names;
  readonly owed: Owed;
  readonly wallets: Pick<RedisWallets, "endBefore">;
};

/** Since when the newest life of an instance goes on, and which requests of those before it do. */
const Note = z.object({ sinceMs: z.number(), kept: z.array(z.string()) });

/**
 * From the start of an instance to its end. Two lives of one instance are never at the same time, so that what the one
 * before was serving is over once the next has replayed its journal.
 */
export class Lives {
  readonly #deps: Deps;
  /** By the time of Redis; undefined: it did not say. */
  #sinceMs: number | undefined;
  #isWanted: IsRequestWanted = async () => true;
  /** Written to claims, once others can find out that this life has followed those before it. */
  #own = "";

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  get own(): string {
    return this.#own;
  }

  async begin(): Promise<void> {
    const { connection, testTimeMs } = this.#deps;
    if (testTimeMs !== undefined) this.#sinceMs = testTimeMs();
    else {
      const time = await connection.send(["TIME"]).catch(() => []);
      const [seconds, micros] = listOf(time).map(Number);
      if (seconds !== undefined && micros !== undefined) this.#sinceMs = seconds * 1000 + Math.floor(micros / 1000);
    }
  }

  /**
   * What lives before this one left is over, and what instances left that do not come back, but for these requests, which
   * somebody takes up. Where Redis does not answer it is tried again. A claim is ended by who finds it in the way.
   */
  async endEarlier(kept: readonly string[], isWanted: IsRequestWanted): Promise<void> {
    this.#isWanted = isWanted;
    const { connection, names, owed, wallets, instanceId, retiredInstanceIds = [], holdMaxMs } = this.#deps;
    const sinceMs = this.#sinceMs;
    if (sinceMs === undefined) return;
    const ended = [instanceId, ...retiredInstanceIds];
    await owed.add("claims of earlier lives", async () => {
      // For as long as a claim can be there that an earlier one made.
      const forMs = ["PX", String(2 * holdMaxMs)];
      const note = JSON.stringify({ sinceMs, kept });
      for (const id of ended) await connection.send(["SET", names.fleet(`life:${id}`), note, ...forMs]);
      this.#own = `${sinceMs} ${instanceId}`;
      return "done";
    });
    // One step for each workspace: nobody waits for them.
    void owed.add("holds of earlier lives", () => wallets.endBefore(ended, sinceMs, kept));
  }

  /** Of a request that was begun in this life. */
  async standingOf(life: string, requestId: string): Promise<"goes on" | "is over"> {
    const { connection, names } = this.#deps;
    const [sinceMs, instanceId] = life.split(" ");
    if (instanceId === undefined) return "goes on";
    const text = textOrNone(await connection.send(["GET", names.fleet(`life:${instanceId}`)]));
    if (text === undefined) return "goes on";
    const newest = Note.parse(JSON.parse(text));
    if (newest.sinceMs <= Number(sinceMs)) return "goes on";
    return newest.kept.includes(requestId) && (await this.#isWanted(requestId)) ? "goes on" : "is over";
  }
}
