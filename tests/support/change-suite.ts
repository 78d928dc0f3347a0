import { expect, test } from "vitest";
import type { Store } from "../../src/io/store/sql/store.ts";

const line = (id: string, workspaceId: string | null, atMs: number) => ({
  ...{ id, atMs, actor: "operator", action: "x.y", workspaceId, target: null, detail: {} },
});

/** Changes as other instances learn of them. */
export function changeTests(current: () => Store): void {
  test("SCALE-02 who follows the changes by their numbers misses none, however many are made at once", async () => {
    const { change, changes } = current();
    const before = await changes.newest();
    const seen = new Set<string | null>();
    let seq = before;
    const look = async () => {
      const found = await changes.since(seq);
      seq = found.seq;
      for (const one of found.of) seen.add(one);
    };
    let made = 0;
    const making = Array.from({ length: 12 }, async (_, n) => {
      await change(async () => ({ answer: undefined, audit: line(`a${n}`, n === 0 ? null : `ws_${n}`, n) }));
      made += 1;
    });
    while (made < 12) await look();
    await Promise.all(making);
    await look();
    expect(seen).toEqual(new Set([null, ...Array.from({ length: 11 }, (_, n) => `ws_${n + 1}`)]));
    expect(await changes.newest()).toBe(seq);
    await changes.sweep(11);
    expect([...(await changes.since(before)).of]).toEqual(["ws_11"]);
  });

  test("SCALE-02 what is undone, or is no change, is not told", async () => {
    const { change, changes } = current();
    const before = await changes.newest();
    await change(async () => ({ answer: undefined, audit: null }));
    const failing = change(async ({ tenancy }) => {
      await tenancy.removeMember("nobody");
      throw new Error("undone");
    });
    await expect(failing).rejects.toThrow("undone");
    expect([...(await changes.since(before)).of]).toEqual([]);
  });
}
