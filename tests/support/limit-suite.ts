import { describe, expect, test } from "vitest";
import type { SpendLimits } from "../../src/domain/tenancy/limits.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { chargedRecord } from "./records.ts";
import { withWorkspaces } from "./workspaces.ts";

const day = (text: string) => Date.parse(`${text}T12:00:00Z`);

/** Limits, and the sums that a new process starts its counters with. */
export function limitTests(store: () => Store, reopen: () => Promise<Store>): void {
  describe("spend limits", () => {
    test("BILL-04 limits are stored, changed and lifted, beyond 2^53 too", async () => {
      await withWorkspaces(store());
      const limits: SpendLimits = {
        workspaceId: "ws_1",
        of: "workspace",
        spenderId: "ws_1",
        dayNanos: 2n ** 53n + 1n,
        monthNanos: null,
      };
      const ofKey: SpendLimits = { ...limits, of: "key", spenderId: "key_1", dayNanos: 0n, monthNanos: 5n };
      await store().limits.save(limits);
      await store().limits.save(ofKey);
      expect(await store().limits.loadAll()).toEqual([ofKey, limits]);
      await store().limits.save({ ...limits, dayNanos: null, monthNanos: 7n });
      await store().limits.save({ ...ofKey, dayNanos: null, monthNanos: null });
      await store().limits.save({ ...ofKey, spenderId: "key_2", dayNanos: null, monthNanos: null });
      expect(await (await reopen()).limits.loadAll()).toEqual([{ ...limits, dayNanos: null, monthNanos: 7n }]);
    });

    test("BILL-04 a limit is never negative, and belongs to an existing workspace", async () => {
      await withWorkspaces(store());
      const limits = { workspaceId: "ws_1", of: "key", spenderId: "k", dayNanos: -1n, monthNanos: null } as const;
      await expect(store().limits.save(limits)).rejects.toThrow();
      await expect(store().limits.save({ ...limits, workspaceId: "ws_none", dayNanos: 1n })).rejects.toThrow();
      expect(await store().limits.loadAll()).toEqual([]);
    });

    test("BILL-04 spend of keys is summed by day, over models, providers and environments", async () => {
      await withWorkspaces(store());
      const record = (id: string, at: string, nanos: bigint, more: object = {}) =>
        chargedRecord(id, nanos, { createdAtMs: day(at), ...more });
      await store().ingest([
        record("r1", "2026-10-31", 5n),
        record("r2", "2026-11-01", 2n ** 53n),
        record("r3", "2026-11-01", 1n, { model: "other/model", environment: "test" }),
        record("r4", "2026-11-02", 7n),
        record("r5", "2026-11-02", 11n, { keyId: "key_2" }),
        record("r6", "2026-11-02", 13n, { workspaceId: "ws_2", keyId: "key_3" }),
      ]);
      const rows = await store().rollups.spendSince("2026-11-01");
      const sorted = rows.map((row) => [row.workspaceId, row.keyId, row.day, row.nanos]).toSorted();
      expect(sorted).toEqual([
        ["ws_1", "key_1", "2026-11-01", 2n ** 53n + 1n],
        ["ws_1", "key_1", "2026-11-02", 7n],
        ["ws_1", "key_2", "2026-11-02", 11n],
        ["ws_2", "key_3", "2026-11-02", 13n],
      ]);
    });
  });
}
