import { expect, test } from "vitest";
import type { Batch, LineOutcome } from "../../src/domain/batches/batch.ts";
import type { StoredFile } from "../../src/domain/batches/stored-file.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { openVault } from "../../src/io/vault.ts";
import { MASTER_KEY } from "./response-suite.ts";

const NOW = 1000;
const lease = (owner: string, nowMs = NOW) => ({ owner, nowMs, untilMs: nowMs + 100 });

const file: StoredFile = {
  id: "file-1",
  workspaceId: "ws_1",
  keyId: "key_1",
  createdAtMs: 1,
  expiresAtMs: 9000,
  purpose: "batch",
  filename: "wünsche.jsonl",
  bytes: 12,
  content: "chunks",
  batchId: null,
};

const batch: Batch = {
  id: "batch_1",
  workspaceId: "ws_1",
  keyId: "key_1",
  shape: "openai",
  endpoint: "/v1/chat/completions",
  inputFileId: "file-1",
  status: "validating",
  createdAtMs: 1,
  expiresAtMs: 5000,
  keepUntilMs: 9000,
  total: 0,
  stop: null,
  pause: null,
  times: { validating: 1 },
  outputFileId: null,
  errorFileId: null,
  origin: { headers: { "x-title": "app" }, clientAddress: "::1", metadata: { run: "1" } },
  errors: [],
};

function outcome(line: number, more: Partial<LineOutcome> = {}): LineOutcome {
  const usage = { costNanos: 10n, inputTokens: 1, outputTokens: 2, cachedTokens: 0, reasoningTokens: 0 };
  const text = `{"line":${line}}\n`;
  return {
    batchId: "batch_1",
    workspaceId: "ws_1",
    part: 0,
    line,
    end: "succeeded",
    text,
    record: "{}",
    usage,
    ...more,
  };
}

const storesOf = (store: Store) => {
  const vault = openVault(new MasterKeys(MASTER_KEY), store.dataKeys);
  return { files: store.files(vault), batches: store.batches(vault) };
};

async function startedBatch(store: Store) {
  const { files, batches } = storesOf(store);
  await files.begin(file);
  await files.addChunks(file, [
    { number: 0, bytes: Buffer.from("one\ntwo\n") },
    { number: 1, bytes: Buffer.from([0xff, 0x00, 0x0a]) },
  ]);
  await files.complete(file, 11);
  await batches.add(batch);
  const parts = [
    { batchId: "batch_1", number: 0, firstLine: 0, lines: 2 },
    { batchId: "batch_1", number: 1, firstLine: 2, lines: 1 },
  ];
  await batches.start("batch_1", parts, NOW);
  return { files, batches };
}

/** What every engine must do for files and batches. */
export function batchTests(current: () => Store): void {
  test("BATCH-01 a file is found once it is complete, with its bytes, and goes with its content", async () => {
    const { files } = storesOf(current());
    await files.begin(file);
    expect(await files.find("ws_1", "file-1", NOW)).toBeUndefined();
    await files.addChunks(file, [{ number: 0, bytes: Buffer.from([0xff, 0x0a]) }]);
    await files.complete(file, 2);
    expect(await files.find("ws_1", "file-1", NOW)).toEqual({ ...file, bytes: 2 });
    expect(await files.find("ws_2", "file-1", NOW)).toBeUndefined();
    expect(await files.find("ws_1", "file-1", 9000)).toBeUndefined();
    expect([await files.chunkNumbers("file-1"), await files.usedBytes("ws_1")]).toEqual([[0], 2]);
    expect(await files.chunk(file, 0)).toEqual(Buffer.from([0xff, 0x0a]));
    await files.begin({ ...file, id: "file-2" });
    expect(await files.sweep(NOW, 1)).toBe(1);
    expect(await files.remove("ws_1", "file-1")).toBe(true);
    expect([await files.chunkNumbers("file-1"), await files.usedBytes("ws_1")]).toEqual([[], 0]);
  });

  test("BATCH-01 a part is claimed by one process, again only after its lease, and never once it is done", async () => {
    const { batches } = await startedBatch(current());
    expect(await batches.find("ws_1", "batch_1", NOW)).toMatchObject({ status: "in_progress", total: 3 });
    expect(await batches.claimPart("batch_1", lease("a"))).toMatchObject({
      number: 0,
      firstLine: 0,
      lines: 2,
      runs: 1,
    });
    expect(await batches.claimPart("batch_1", lease("b"))).toMatchObject({ number: 1, runs: 1 });
    expect(await batches.claimPart("batch_1", lease("b"))).toBeUndefined();
    expect(await batches.openParts("batch_1", NOW)).toEqual({ open: 2, claimed: 2 });
    await batches.renew({ owner: "b", nowMs: NOW, untilMs: 5000 });
    expect(await batches.claimPart("batch_1", lease("b", 2000))).toMatchObject({ number: 0, runs: 2 });
    await batches.finishPart({ batchId: "batch_1", number: 0, firstLine: 0, lines: 2 });
    await batches.releaseAll("b");
    expect(await batches.claimPart("batch_1", lease("c", 2000))).toMatchObject({ number: 1, runs: 2 });
    expect(await batches.claimPart("batch_1", lease("c", 9000))).toMatchObject({ number: 1, runs: 3 });
    await batches.resetClaims();
    expect(await batches.claimPart("batch_1", lease("d"))).toMatchObject({ number: 1 });
  });

  test("BATCH-01 the first outcome of a line stays, counts once, and its record is kept until the part is done", async () => {
    const { batches } = await startedBatch(current());
    const both = await Promise.all([
      batches.saveOutcomes([outcome(0), outcome(1, { end: "errored", record: null })]),
      batches.saveOutcomes([outcome(1, { text: "late\n" }), outcome(0, { text: "late\n" })]),
    ]);
    expect(both.map((keys) => keys.size).sort()).toEqual([0, 2]);
    expect(await batches.saveOutcomes([outcome(1), outcome(2, { part: 1 })])).toEqual(new Set(["batch_1:2"]));
    const sums = (await batches.progress(["batch_1"])).get("batch_1");
    expect([sums?.costNanos, sums?.outputTokens]).toEqual([30n, 6]);
    const part = { batchId: "batch_1", number: 1, firstLine: 2, lines: 1 };
    expect(await batches.partRemains(part)).toEqual({ done: new Set([2]), records: [{ line: 2, text: "{}" }] });
    await batches.finishPart(part);
    expect(await batches.partRemains(part)).toEqual({ done: new Set([2]), records: [] });
    const all = await batches.results(batch, "all", -1);
    expect(all.map(({ line }) => line)).toEqual([0, 1, 2]);
    expect(await batches.results(batch, "all", 2)).toEqual([]);
    const bytes = [await batches.resultBytes("batch_1", "successes"), await batches.resultBytes("batch_1", "errors")];
    expect(bytes.reduce((sum: number, size) => sum + (size ?? 0), 0)).toBe(
      all.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
    );
  });

  test("BATCH-01 a batch is stopped once, paused and resumed, and ends with its files", async () => {
    const { files, batches } = await startedBatch(current());
    expect(await files.batchInProgress("ws_1", "file-1")).toBe("batch_1");
    await batches.pause("batch_1", "insufficient_credits", 1100, 1200);
    await batches.pause("batch_1", "insufficient_credits", 1300, 1400);
    expect((await batches.unfinished())[0]?.pause).toMatchObject({ sinceMs: 1100, untilMs: 1400 });
    await batches.stop("batch_1", "cancelled", 1500);
    await batches.stop("batch_1", "expired", 1600);
    expect((await batches.unfinished())[0]).toMatchObject({ status: "cancelling", stop: "cancelled", pause: null });
    expect([await batches.claim("batch_1", lease("a")), await batches.claim("batch_1", lease("b"))]).toEqual([
      true,
      false,
    ]);
    const results = { ...file, id: "file-3", purpose: "batch_output", content: "errors", batchId: "batch_1" } as const;
    await batches.finish("batch_1", "cancelled", 1700, [results]);
    const over = await batches.find("ws_1", "batch_1", NOW);
    expect(over).toMatchObject({
      status: "cancelled",
      errorFileId: "file-3",
      outputFileId: null,
      origin: batch.origin,
    });
    expect(over?.times).toEqual({ validating: 1, in_progress: NOW, cancelling: 1500, cancelled: 1700 });
    expect([await batches.unfinishedCount("ws_1"), await files.batchInProgress("ws_1", "file-1")]).toEqual([
      0,
      undefined,
    ]);
    await batches.saveOutcomes([outcome(0)]);
    expect(await batches.sweep(9000)).toBe(1);
    expect(await files.find("ws_1", "file-3", NOW)).toBeUndefined();
    expect(await batches.results(batch, "all", -1)).toEqual([]);
  });
}
