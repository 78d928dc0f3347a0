import { expect, test } from "vitest";
import type { Store } from "../../src/io/store/sql/store.ts";

const line = (id: string, workspaceId: string | null, atMs: number) => ({
  ...{ id, atMs, actor: "operator", action: "x.y", workspaceId, target: null, detail: {} },
});

/** Changes as other instances receive them. */
export function changeTests(current: () => Store): void {
  test("SCALE-02 a reader that follows change versions misses none, however concurrent they are", async () => {
    const { change, changes } = current();
    const before = await changes.latestSeq();
    const seen = new Set<string | null>();
    let seq = before;
    const readChanges = async () => {
      const found = await changes.changesSince(seq);
      seq = found.seq;
      if (found.workspaceIds === "missed") throw new Error("nothing was swept yet");
      for (const one of found.workspaceIds) seen.add(one);
    };
    let made = 0;
    const making = Array.from({ length: 12 }, async (_, n) => {
      await change(async () => ({ result: undefined, audit: line(`a${n}`, n === 0 ? null : `ws_${n}`, n) }));
      made += 1;
    });
    while (made < 12) await readChanges();
    await Promise.all(making);
    await readChanges();
    expect(seen).toEqual(new Set([null, ...Array.from({ length: 11 }, (_, n) => `ws_${n + 1}`)]));
    expect(await changes.latestSeq()).toBe(seq);
  });

  test("SCALE-02 KEY-04 a reader behind pruned changes is notified; the last change is never pruned", async () => {
    const { change, changes } = current();
    const before = await changes.latestSeq();
    for (const n of [1, 2, 3]) await change(async () => ({ result: undefined, audit: line(`s${n}`, `ws_${n}`, n) }));
    await changes.purge(3);
    expect(await changes.changesSince(before)).toEqual({ seq: before + 3, workspaceIds: "missed" });
    expect(await changes.changesSince(before + 2)).toEqual({ seq: before + 3, workspaceIds: new Set(["ws_3"]) });
    await changes.purge(1e15);
    expect(await changes.latestSeq()).toBe(before + 3);
    expect(await changes.changesSince(before)).toEqual({ seq: before + 3, workspaceIds: "missed" });
    expect(await changes.changesSince(before + 3)).toEqual({ seq: before + 3, workspaceIds: new Set() });
  });

  test("SCALE-02 a rolled back or empty change is not announced", async () => {
    const { change, changes } = current();
    const before = await changes.latestSeq();
    await change(async () => ({ result: undefined, audit: null }));
    const failing = change(async ({ tenancy }) => {
      await tenancy.removeMember("unknown");
      throw new Error("undone");
    });
    await expect(failing).rejects.toThrow("undone");
    expect(await changes.changesSince(before)).toEqual({ seq: before, workspaceIds: new Set() });
  });
}
