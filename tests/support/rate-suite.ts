import { describe, expect, test } from "vitest";
import type { RateRow } from "../../src/domain/catalogue/exchange-rates.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { withWorkspaces } from "./workspaces.ts";

const rate = (id: string, code: string, perEur: string, day: string, recordedAtMs: number): RateRow => ({
  id,
  code,
  perEur,
  day,
  source: "a test",
  recordedAtMs,
});

/** Exchange rates and their history, and the margins of workspaces. */
export function rateTests(store: () => Store, reopen: () => Promise<Store>): void {
  describe("exchange rates", () => {
    const first = rate("r1", "USD", "1.1360720000000001", "2026-01-01", 5);
    const rows = [
      first,
      rate("r2", "USD", "1.14", "2026-01-03", 6),
      rate("r3", "HUF", "400", "2026-01-02", 6),
      rate("r4", "USD", "1.15", "2026-01-03", 7),
      // Recorded late, for a past day.
      rate("r5", "USD", "1.12", "2026-01-02", 8),
    ];

    test("BILL-06 the effective rate is of the newest day, and the last recorded one of that day", async () => {
      await store().rates.append(rows);
      await store().rates.append([]);
      const { rates } = await reopen();
      expect((await rates.latest()).map(({ id }) => id)).toEqual(["r3", "r4"]);
    });

    test("BILL-06 every past rate stays, digit for digit, newest first", async () => {
      await store().rates.append(rows);
      const { rates } = store();
      expect((await rates.history("USD", 10, null)).rows.at(-1)).toEqual(first);
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof rates.history>> = await rates.history(null, 2, cursor);
        seen.push(...page.rows.map(({ id }) => id));
        cursor = page.next;
      } while (cursor !== null);
      expect(seen).toEqual(["r5", "r4", "r3", "r2", "r1"]);
      await expect(rates.append([{ ...first, perEur: "2" }])).rejects.toMatchObject({ failure: "conflict" });
    });
  });

  test("BILL-05 the margin of a workspace is stored, changed and removed", async () => {
    await withWorkspaces(store(), "ws_1");
    await store().margins.save("ws_1", "0.05");
    await store().margins.save("ws_1", "-0.25");
    expect(await (await reopen()).margins.loadAll()).toEqual([{ workspaceId: "ws_1", share: "-0.25" }]);
    await store().margins.save("ws_1", null);
    expect(await store().margins.loadAll()).toEqual([]);
  });
}
