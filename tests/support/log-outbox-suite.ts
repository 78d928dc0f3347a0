import { describe, expect, test } from "vitest";
import type { Store } from "../../src/io/store/sql/store.ts";

/** The pending part of the log export. */
export function logOutboxTests(store: () => Store, reopen: () => Promise<Store>): void {
  describe("the log export outbox", () => {
    const waiting = (requestId: string, queuedAtMs: number) => ({
      requestId,
      queuedAtMs,
      record: `{"id":"${requestId}"}`,
    });

    const queued = (row: ReturnType<typeof waiting>) => ({ ...row, isCharged: false });

    test("OPS-03 each target has its own, oldest first, until accepted; duplicates count once, also after a restart", async () => {
      const rows = [waiting("r2", 2), waiting("r1", 1), ...Array.from({ length: 700 }, (_, n) => waiting(`z${n}`, 9))];
      await store().logOutbox.add(["webhook", "files"], rows.map(queued));
      await store().logOutbox.add(["files"], [queued(waiting("r1", 99))]);
      await store().logOutbox.add(["otlp"], []);
      const { logOutbox } = await reopen();
      expect(await logOutbox.nextBatch("files", 2)).toEqual([waiting("r1", 1), waiting("r2", 2)]);
      await logOutbox.acknowledge("files", [waiting("r1", 1), waiting("r2", 2)]);
      expect((await logOutbox.nextBatch("files", 1000)).length).toBe(700);
      expect(await logOutbox.oldestQueuedAtMs("files")).toBe(9);
      expect(await logOutbox.oldestQueuedAtMs("webhook")).toBe(1);
      expect(await logOutbox.oldestQueuedAtMs("otlp")).toBeUndefined();
      expect(await logOutbox.expire("webhook", 9)).toBe(2);
      await logOutbox.acknowledge("files", rows);
      expect(await logOutbox.nextBatch("files", 10)).toEqual([]);
      expect((await logOutbox.nextBatch("webhook", 1000)).length).toBe(700);
    });

    test("OPS-03 BILL-07 an interrupted request that is charged later is sent with its charge", async () => {
      const { logOutbox } = store();
      const interrupted = (id: string, atMs: number) => queued(waiting(id, atMs));
      const charged = (id: string, atMs: number) => ({
        ...{ requestId: id, queuedAtMs: atMs, isCharged: true },
        record: `{"id":"${id}","charge":{"nanos":"3"}}`,
      });
      const left = async () => (await logOutbox.nextBatch("files", 10)).map(({ record }) => record);
      await logOutbox.add(["files"], [interrupted("r1", 5), interrupted("r2", 5)]);
      const sending = await logOutbox.nextBatch("files", 1);
      // Within one batch in either order, at the same moment, and again.
      const batch = [charged("r1", 5), interrupted("r1", 5), interrupted("r3", 6), charged("r3", 6)];
      await logOutbox.add(["webhook", "files"], batch);
      expect((await logOutbox.nextBatch("webhook", 10)).map(({ record }) => record)).toEqual([
        charged("r1", 5).record,
        charged("r3", 6).record,
      ]);
      await logOutbox.add(["files"], [charged("r3", 9), charged("r3", 9), interrupted("r3", 9)]);
      await logOutbox.acknowledge("files", sending);
      expect(await left()).toEqual([interrupted("r2", 5).record, charged("r1", 5).record, charged("r3", 6).record]);
      await logOutbox.acknowledge("files", await logOutbox.nextBatch("files", 10));
      await logOutbox.add(["files"], [charged("r2", 7)]);
      expect(await left()).toEqual([charged("r2", 7).record]);
    });
  });
}
