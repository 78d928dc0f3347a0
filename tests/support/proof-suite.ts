import { describe, expect, test } from "vitest";
import type { SurfaceProof } from "../../src/domain/catalogue/proofs.ts";
import type { Store } from "../../src/io/store/sql/store.ts";

export function proofOf(id: string, atMs: number, more: Partial<SurfaceProof> = {}): SurfaceProof {
  return {
    id,
    endpoint: "acme:fr:lab/judge",
    surface: "decisions",
    subject: "s1",
    atMs,
    result: "proven",
    reason: "answered",
    cause: "schedule",
    durationMs: 12,
    inputTokens: 40,
    outputTokens: 0,
    audioMs: null,
    ...more,
  };
}

/** Proofs and their history. */
export function proofTests(store: () => Store, reopen: () => Promise<Store>): void {
  describe("proofs of endpoints", () => {
    const rows = [
      proofOf("p1", 5),
      proofOf("p2", 6, { result: "failed", reason: "answered 500", inputTokens: null, outputTokens: null }),
      proofOf("p3", 6, { endpoint: "acme:fr:lab/voice", surface: "speech", audioMs: 1_250, cause: "operator" }),
      proofOf("p4", 9, { cause: "start" }),
    ];

    test("DEC-02 proofs are stored with their date and returned unchanged", async () => {
      await store().proofs.append(rows);
      await store().proofs.append([]);
      const { proofs } = await reopen();
      expect(await proofs.since(0)).toEqual(rows);
      expect((await proofs.since(6)).map(({ id }) => id)).toEqual(["p2", "p3", "p4"]);
    });

    test("DEC-05 a proof without images is returned as such", async () => {
      const blind = proofOf("p5", 7, { withoutImages: true });
      await store().proofs.append([...rows, blind]);
      const { proofs } = await reopen();
      expect(await proofs.since(7)).toEqual([blind, rows[3]]);
    });

    test("the history is newest first, paginated, and filtered by endpoint, surface and result", async () => {
      await store().proofs.append(rows);
      const { proofs } = store();
      const ids = async (filter: Parameters<typeof proofs.history>[0]) =>
        (await proofs.history(filter, 10, null)).rows.map(({ id }) => id);
      expect(await ids({})).toEqual(["p4", "p3", "p2", "p1"]);
      expect(await ids({ endpoint: "acme:fr:lab/voice" })).toEqual(["p3"]);
      expect(await ids({ surface: "decisions" })).toEqual(["p4", "p2", "p1"]);
      expect(await ids({ result: "failed" })).toEqual(["p2"]);
      expect(await ids({ endpoint: "acme:fr:lab/voice", result: "failed" })).toEqual([]);
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof proofs.history>> = await proofs.history({}, 3, cursor);
        seen.push(...page.rows.map(({ id }) => id));
        cursor = page.next;
      } while (cursor !== null);
      expect(seen).toEqual(["p4", "p3", "p2", "p1"]);
    });

    test("expired proofs are removed", async () => {
      await store().proofs.append(rows);
      await store().proofs.sweep(6);
      expect((await store().proofs.since(0)).map(({ id }) => id)).toEqual(["p2", "p3", "p4"]);
    });
  });
}
