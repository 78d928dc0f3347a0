import { describe, expect, test } from "vitest";
import type { Store } from "../../src/io/store/sql/store.ts";

/** What of the log is still to be sent. */
export function logOutboxTests(store: () => Store, reopen: () => Promise<Store>): void {
  describe("the outbox of the log", () => {
    const waiting = (requestId: string, queuedAtMs: number) => ({
      requestId,
      queuedAtMs,
      record: `{"id":"${requestId}"}`,
    });

    test("OPS-03 each target has its own, oldest first, until it took it; twice is once, also after a restart", async () => {
      const rows = [waiting("r2", 2), waiting("r1", 1), ...Array.from({ length: 700 }, (_, n) => waiting(`z${n}`, 9))];
      await store().logOutbox.add(["webhook", "files"], rows);
      await store().logOutbox.add(["files"], [waiting("r1", 99)]);
      await store().logOutbox.add(["otlp"], []);
      const { logOutbox } = await reopen();
      expect(await logOutbox.next("files", 2)).toEqual([waiting("r1", 1), waiting("r2", 2)]);
      await logOutbox.done("files", ["r1", "r2"]);
      expect((await logOutbox.next("files", 1000)).length).toBe(700);
      expect(await logOutbox.oldestMs("files")).toBe(9);
      expect(await logOutbox.oldestMs("webhook")).toBe(1);
      expect(await logOutbox.oldestMs("otlp")).toBeUndefined();
      expect(await logOutbox.expire("webhook", 9)).toBe(2);
      await logOutbox.done(
        "files",
        rows.map(({ requestId }) => requestId),
      );
      expect(await logOutbox.next("files", 10)).toEqual([]);
      expect((await logOutbox.next("webhook", 1000)).length).toBe(700);
    });
  });
}
