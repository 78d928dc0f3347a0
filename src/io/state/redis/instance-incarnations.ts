import { z } from "zod";
import type { KeySpace } from "./key-space.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { listReply, optionalTextReply } from "./redis-replies.ts";
import type { IsRequestWanted, RedisSettings } from "./redis-state.ts";
import type { RedisWallets } from "./redis-wallets.ts";
import type { RetryQueue } from "./retry-queue.ts";

type InstanceIncarnationsDeps = Pick<
  RedisSettings,
  "instanceId" | "retiredInstanceIds" | "holdMaxMs" | "testTimeMs"
> & {
  readonly connection: RedisConnection;
  readonly keys: KeySpace;
  readonly retries: RetryQueue;
  readonly wallets: Pick<RedisWallets, "releaseHoldsBefore">;
};

/** Stored: when the newest incarnation of an instance started, and which requests of earlier ones continue. */
const IncarnationNote = z.object({ sinceMs: z.number(), kept: z.array(z.string()) });

/**
 * One incarnation is one run of an instance, from start to exit. Incarnations of an instance never overlap, so whatever
 * an earlier one was serving is over once the next has replayed its journal.
 */
export class InstanceIncarnations {
  readonly #deps: InstanceIncarnationsDeps;
  /** By the clock of Redis; undefined when Redis did not say. */
  #startedAtMs: number | undefined;
  #isWanted: IsRequestWanted = async () => true;
  #current = "";

  constructor(deps: InstanceIncarnationsDeps) {
    this.#deps = deps;
  }

  /** Written to claims. Empty until Redis has the note by which other instances tell incarnations apart. */
  get current(): string {
    return this.#current;
  }

  async start(): Promise<void> {
    const { connection, testTimeMs } = this.#deps;
    if (testTimeMs !== undefined) this.#startedAtMs = testTimeMs();
    else {
      const time = await connection.send(["TIME"]).catch(() => []);
      const [seconds, micros] = listReply(time).map(Number);
      if (seconds !== undefined && micros !== undefined) this.#startedAtMs = seconds * 1000 + Math.floor(micros / 1000);
    }
  }

  /**
   * Ends holds of earlier incarnations, and of retired instances, except those of `keptRequestIds`, which another run
   * continues. Their claims end when another request meets them (`isActive`).
   */
  async releaseEarlier(keptRequestIds: readonly string[], isWanted: IsRequestWanted): Promise<void> {
    this.#isWanted = isWanted;
    const { connection, keys, retries, wallets, instanceId, retiredInstanceIds = [], holdMaxMs } = this.#deps;
    const sinceMs = this.#startedAtMs;
    if (sinceMs === undefined) return;
    const endedInstances = [instanceId, ...retiredInstanceIds];
    await retries.add("claims of earlier incarnations", async () => {
      // As long as a claim of an earlier incarnation can exist.
      const ttl = ["PX", String(2 * holdMaxMs)];
      const note = JSON.stringify({ sinceMs, kept: keptRequestIds });
      for (const id of endedInstances) await connection.send(["SET", keys.incarnation(id), note, ...ttl]);
      this.#current = `${sinceMs} ${instanceId}`;
      return "done";
    });
    // One script for each workspace: startup does not wait for them.
    void retries.add("holds of earlier incarnations", () =>
      wallets.releaseHoldsBefore(endedInstances, sinceMs, keptRequestIds),
    );
  }

  /** Whether a request that began in this incarnation may still be in flight. */
  async isActive(incarnation: string, requestId: string): Promise<boolean> {
    const { connection, keys } = this.#deps;
    const [sinceMs, instanceId] = incarnation.split(" ");
    if (instanceId === undefined) return true;
    const text = optionalTextReply(await connection.send(["GET", keys.incarnation(instanceId)]));
    if (text === undefined) return true;
    const newest = IncarnationNote.parse(JSON.parse(text));
    if (newest.sinceMs <= Number(sinceMs)) return true;
    return newest.kept.includes(requestId) && (await this.#isWanted(requestId));
  }
}
