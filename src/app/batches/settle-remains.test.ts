import { expect, test } from "vitest";
import { chargedRecord } from "../../../tests/support/records.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import { memoryState } from "../../io/state/memory-state.ts";
import { systemClock } from "../../kit/clock.ts";
import { LineChunker, linesIn } from "./line-chunker.ts";
import { settleRemains } from "./settle-remains.ts";

const NANOS = 5n;

/** A process with one record of an earlier run; `logged`: its charge is in SQL already. */
async function settled(logged: boolean) {
  const record = { ...chargedRecord("req_1", NANOS), workspaceId: "ws_1" };
  const state = memoryState(systemClock, { keyUsesMax: 10 });
  await state.credit("ws_1", 100n);
  const journaled: RequestRecord[] = [];
  const deps = {
    gateway: {
      state,
      journal: {
        append: async (entry: { record: RequestRecord }) => void journaled.push(entry.record),
      },
    },
    log: { find: async () => (logged ? record : undefined) },
    waitForIngest: () => Promise.reject(new Error("an instance is away")),
    instances: "one",
  };
  const remains = { done: new Set([0]), records: [{ line: 0, text: JSON.stringify(record) }] };
  await settleRemains(deps as unknown as Parameters<typeof settleRemains>[0], remains);
  return { journaled, wallet: await state.wallet("ws_1"), record };
}

test("BATCH-01 BILL-02 after a crash between outcome and journal the stored record is charged, without another run", async () => {
  const { journaled, wallet, record } = await settled(false);
  expect(journaled).toEqual([JSON.parse(JSON.stringify(record))]);
  expect(wallet).toEqual({ balanceNanos: 100n - NANOS, heldNanos: 0n });
});

test("BATCH-01 BILL-02 a record that SQL has is not charged again", async () => {
  const { journaled, wallet } = await settled(true);
  expect([journaled, wallet.balanceNanos]).toEqual([[], 100n]);
});

test("BATCH-03 a file is cut into chunks of whole lines, however its bytes arrive", () => {
  const lines = Array.from({ length: 5000 }, (_, at) => `{"n":${at},"text":"${"ü".repeat(at % 90)}"}`);
  const bytes = Buffer.from(lines.join("\n"));
  for (const step of [97, 70_000, bytes.length]) {
    const chunker = new LineChunker(10_000);
    const chunks = [];
    for (let at = 0; at < bytes.length; at += step) chunks.push(...chunker.add(bytes.subarray(at, at + step)));
    chunks.push(...chunker.end());
    expect(chunks.map(({ number }) => number)).toEqual(chunks.map((_, at) => at));
    expect(chunks.length).toBeGreaterThan(3);
    expect(chunks.flatMap((chunk) => linesIn(chunk.bytes))).toEqual(lines);
    expect([chunker.bytes, chunker.tooLongLine]).toEqual([bytes.length, undefined]);
  }
});

test("BATCH-03 a line above the limit is named, and nothing of it is kept", () => {
  const chunker = new LineChunker(10);
  chunker.add(Buffer.from("short\n01234567"));
  expect(chunker.tooLongLine).toBeUndefined();
  expect(chunker.add(Buffer.from("89ab".repeat(1000)))).toEqual([]);
  expect(chunker.tooLongLine).toBe(2);
});
