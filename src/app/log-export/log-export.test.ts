import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../tests/support/eventually.ts";
import { finishedRecord } from "../../../tests/support/records.ts";
import { LOG_TARGETS } from "../../domain/record/log-outbox.ts";
import { openSqlite } from "../../io/store/sql/sqlite/open.ts";
import type { ExportResult } from "../../io/telemetry/export-result.ts";
import { systemClock } from "../../kit/clock.ts";
import { systemTimers } from "../../kit/timers.ts";
import { LogExport } from "./log-export.ts";

async function opened(answer: (ids: readonly string[]) => ExportResult) {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-outbox-"));
  const store = await openSqlite(folder, systemClock);
  const standing = { leads: true, checks: 0, lost: 0, sent: [] as string[][] };
  const logExport = new LogExport({
    outbox: store.logOutbox,
    targets: new Map([
      [
        "webhook",
        async (records) => {
          const ids = records.map(({ id }) => id);
          const result = answer(ids);
          if (result === "sent") standing.sent.push(ids);
          return result;
        },
      ],
    ]),
    clock: systemClock,
    timers: systemTimers,
    random: () => 0,
    isLeader: () => {
      standing.checks += 1;
      return standing.leads;
    },
    batchMax: 4,
    everyMs: 5,
    retryPolicy: { baseDelayMs: 1, maxDelayMs: 2 },
    keepMs: 3_600_000,
    metrics: {
      sent: () => undefined,
      failed: () => undefined,
      dropped: (_, count) => {
        standing.lost += count;
      },
    },
    warn: () => undefined,
  });
  onTestFinished(async () => {
    await logExport.stop();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const queue = (ids: readonly string[], queuedAtMs = systemClock.nowMs()) =>
    store.logOutbox.add(
      ["webhook"],
      ids.map((requestId) => ({
        requestId,
        queuedAtMs,
        record: JSON.stringify(finishedRecord(requestId)),
        isCharged: false,
      })),
    );
  const empty = () => eventually(async () => expect(await store.logOutbox.nextBatch("webhook", 1)).toEqual([]));
  return { store, logExport, standing, queue, empty };
}

test("OPS-03 a rejected record is dropped alone, the rest arrives, and expired records count as dropped", async () => {
  const { store, logExport, standing, queue, empty } = await opened((ids) =>
    ids.includes("bad") ? "refused" : "sent",
  );
  await queue(["old"], systemClock.nowMs() - 4_000_000);
  await queue(["a", "b", "bad", "c", "d", "e"]);
  await store.logOutbox.add(
    ["webhook"],
    [{ requestId: "odd", queuedAtMs: systemClock.nowMs(), record: '{"id":"odd"}', isCharged: false }],
  );
  logExport.start();
  await empty();
  await eventually(() => expect(standing.lost).toBe(3));
  expect(standing.sent.flat().toSorted()).toEqual(["a", "b", "c", "d", "e"]);
});

test("OPS-03 only the leader sends; a failing target is retried, and its lag is shown", async () => {
  let tries = 0;
  let answer: ExportResult = "later";
  const { logExport, standing, queue, empty } = await opened(() => {
    tries += 1;
    return answer;
  });
  await queue(["a"], systemClock.nowMs() - 60_000);
  standing.leads = false;
  logExport.start();
  // The first checks are those of other targets.
  await eventually(() => expect(standing.checks).toBeGreaterThan(2 * LOG_TARGETS.length));
  expect(tries).toBe(0);
  expect(logExport.statuses).toEqual([{ target: "webhook", lagMs: 0, failures: 0 }]);
  standing.leads = true;
  await eventually(() => expect(logExport.statuses[0]?.lagMs).toBeGreaterThanOrEqual(60_000));
  await eventually(() => expect(tries).toBeGreaterThan(2));
  answer = "sent";
  await empty();
  expect(standing.sent).toEqual([["a"]]);
});

test("OPS-03 the leader drops expired records of targets that are no longer configured", async () => {
  const { store, logExport, standing } = await opened(() => "sent");
  const waiting = (requestId: string, queuedAtMs: number) => ({
    requestId,
    queuedAtMs,
    record: "{}",
    isCharged: false,
  });
  const nowMs = systemClock.nowMs();
  await store.logOutbox.add(["otlp", "files"], [waiting("old", nowMs - 4_000_000), waiting("new", nowMs)]);
  logExport.start();
  const left = async () => {
    const rows = [...(await store.logOutbox.nextBatch("otlp", 5)), ...(await store.logOutbox.nextBatch("files", 5))];
    return rows.map(({ requestId }) => requestId);
  };
  await eventually(async () => expect(await left()).toEqual(["new", "new"]));
  await eventually(() => expect(standing.lost).toBe(2));
  expect(logExport.statuses.map(({ target }) => target)).toEqual(["webhook"]);
});
