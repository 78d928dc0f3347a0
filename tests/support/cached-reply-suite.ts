import { describe, expect, test } from "vitest";
import type { SealedReply } from "../../src/domain/response-cache/cached-reply.ts";
import type { Store } from "../../src/io/store/sql/store.ts";

const NOW = 1_000;

function replyOf(key: string, more: Partial<SealedReply> = {}): SealedReply {
  return { workspaceId: "ws_1", key, createdAtMs: NOW, expiresAtMs: NOW + 50, sealed: Buffer.alloc(100, 7), ...more };
}

/** Cached replies: one per key, until they expire, within the bytes of their workspace. */
export function cachedReplyTests(store: () => Store, reopen: () => Promise<Store>): void {
  describe("cached replies", () => {
    test("CACHE-01 a reply is found by its key and workspace until it expires, also after a restart", async () => {
      const { cachedReplies } = store();
      await cachedReplies.save([replyOf("a")], 1_000);
      await cachedReplies.save([replyOf("a", { sealed: Buffer.from([1, 2]), expiresAtMs: NOW + 90 })], 1_000);
      const again = (await reopen()).cachedReplies;
      const found = await again.find({ workspaceId: "ws_1", key: "a" }, NOW + 89);
      expect([...(found?.sealed ?? [])]).toEqual([1, 2]);
      expect(await again.find({ workspaceId: "ws_1", key: "a" }, NOW + 90)).toBeUndefined();
      expect(await again.find({ workspaceId: "ws_2", key: "a" }, NOW)).toBeUndefined();
      expect(await again.usage("ws_1", NOW)).toEqual({ replies: 1, bytes: 2 });
      await again.sweep(NOW + 90);
      expect(await again.usage("ws_1", NOW)).toEqual({ replies: 0, bytes: 0 });
    });

    test("CACHE-01 the oldest replies of a full workspace leave, those of others stay, and a purge removes all", async () => {
      const { cachedReplies } = store();
      await cachedReplies.save([replyOf("other", { workspaceId: "ws_2" })], 1_000);
      for (let at = 0; at < 12; at += 1)
        await cachedReplies.save([replyOf(`k${at}`, { createdAtMs: NOW + at })], 1_000);
      const has = async (key: string) => (await cachedReplies.find({ workspaceId: "ws_1", key }, NOW)) !== undefined;
      expect([await has("k0"), await has("k11")]).toEqual([false, true]);
      expect((await cachedReplies.usage("ws_1", NOW)).bytes).toBeLessThanOrEqual(1_000);
      await cachedReplies.save([replyOf("huge", { sealed: Buffer.alloc(2_000) })], 1_000);
      expect([await has("huge"), await has("k11")]).toEqual([false, true]);
      expect(await cachedReplies.purge("ws_1")).toBeGreaterThan(0);
      expect(await cachedReplies.usage("ws_1", NOW)).toEqual({ replies: 0, bytes: 0 });
      expect((await cachedReplies.usage("ws_2", NOW)).replies).toBe(1);
    });
  });
}
