import { describe, expect, test } from "vitest";
import type { RequestRecord } from "../../src/domain/record/record.ts";
import { RecordRejectedError } from "../../src/domain/record/record-batch.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { chargedRecord, finishedRecord } from "./records.ts";
import { withWorkspaces } from "./workspaces.ts";

const NOW_MS = Date.UTC(2027, 0, 15, 12);

/** The field is where the request path writes it: among those that the ledger reads. */
function used(record: RequestRecord, key: string, untilMs: number, body = "body"): RequestRecord {
  const { ttfbMs, totalMs, overheadMs, attempts, decision, ...head } = record;
  return { ...head, idempotency: { key, body, untilMs }, ttfbMs, totalMs, overheadMs, attempts, decision };
}

/** Charged calls by `Idempotency-Key`: written by ingest, read at start. */
export function idempotencyTests(store: () => Store, reopen: () => Promise<Store>): void {
  describe("idempotency keys", () => {
    test("BILL-09 a charged use is written with its charge, once, and survives a restart", async () => {
      await withWorkspaces(store(), "ws_1");
      const nanos = 2n ** 53n + 1n;
      const record = used(chargedRecord("r1", nanos, { status: 499 }), "k1", NOW_MS + 1000.7);
      await store().ingest([record]);
      await store().ingest([record, record]);
      const { idempotency } = await reopen();
      const use = {
        key: "k1",
        body: "body",
        workspaceId: "ws_1",
        requestId: "r1",
        status: 499,
        nanos,
        currency: "EUR",
        expiresAtMs: NOW_MS + 1000,
      };
      expect(await idempotency.find("k1", NOW_MS)).toEqual(use);
      expect(await idempotency.newest(NOW_MS, 10)).toEqual([use]);
      expect(await idempotency.find("k1", NOW_MS + 1000)).toBeUndefined();
      expect(await idempotency.find("k2", NOW_MS)).toBeUndefined();
      expect((await store().ledger.wallet("ws_1"))?.balanceNanos).toBe(-nanos);
    });

    test("BILL-09 uncharged calls leave no row, and neither does a refused batch", async () => {
      await withWorkspaces(store(), "ws_1");
      await store().ingest([
        used(chargedRecord("r0", 0n), "k0", NOW_MS + 1),
        used(finishedRecord("r1", { charge: null }), "k1", NOW_MS + 1),
        chargedRecord("r2", 5n),
      ]);
      const foreign = chargedRecord("r4", 5n);
      const refused = [
        used(chargedRecord("r3", 5n), "k3", NOW_MS + 1),
        { ...foreign, charge: foreign.charge && { ...foreign.charge, currency: "USD" } },
      ];
      await expect(store().ingest(refused)).rejects.toThrow(RecordRejectedError);
      expect(await store().idempotency.newest(0, 10)).toEqual([]);
    });

    test("BILL-09 a key reused after its expiry returns the new call, in any order of records", async () => {
      await withWorkspaces(store(), "ws_1");
      const [old, young] = [
        used(chargedRecord("r1", 5n), "k", NOW_MS, "old"),
        used(chargedRecord("r2", 6n), "k", NOW_MS + 5, "young"),
      ];
      for (const batch of [[old], [young], [old], [young, old]]) await store().ingest(batch);
      expect(await store().idempotency.newest(0, 10)).toMatchObject([
        { key: "k", body: "young", requestId: "r2", nanos: 6n, expiresAtMs: NOW_MS + 5 },
      ]);
    });

    test("BILL-09 the newest come first, and expired ones are removed in batches", async () => {
      await withWorkspaces(store(), "ws_1");
      await store().ingest([1, 2, 3, 4, 5].map((n) => used(chargedRecord(`r${n}`, 5n), `k${n}`, NOW_MS + n)));
      const keys = async (nowMs: number, limit = 10) =>
        (await store().idempotency.newest(nowMs, limit)).map(({ key }) => key);
      expect(await keys(NOW_MS + 2)).toEqual(["k5", "k4", "k3"]);
      expect(await keys(NOW_MS, 2)).toEqual(["k5", "k4"]);
      expect(await store().idempotency.sweep(NOW_MS + 3, 2)).toBe(2);
      expect(await keys(0)).toEqual(["k5", "k4", "k3"]);
      expect(await store().idempotency.sweep(NOW_MS + 3, 2)).toBe(1);
      expect(await store().idempotency.sweep(NOW_MS + 3, 2)).toBe(0);
      expect(await keys(0)).toEqual(["k5", "k4"]);
    });
  });
}
