import { setImmediate as nextTick } from "node:timers/promises";
import type { BatchHead, BatchPart, BatchStatus, LineOutcome, StopReason } from "../../domain/batches/batch.ts";
import type { StoredFile } from "../../domain/batches/stored-file.ts";
import { isProblem, parseLine } from "./batch-lines.ts";
import type { BatchesDeps } from "./batches-context.ts";
import { linesIn } from "./line-chunker.ts";
import { NO_USAGE } from "./line-runner.ts";
import { stoppedLine } from "./result-lines.ts";
import { settleRemains } from "./settle-remains.ts";

const OUTCOMES_PER_WRITE = 500;

const STATUS_OF: Readonly<Record<StopReason, BatchStatus>> = {
  cancelled: "cancelled",
  expired: "expired",
  key_invalid: "cancelled",
  retention_forbidden: "cancelled",
};

const END_OF: Readonly<Record<StopReason, LineOutcome["end"]>> = {
  cancelled: "cancelled",
  expired: "expired",
  key_invalid: "cancelled",
  retention_forbidden: "cancelled",
};

/** Ends a batch whose lines have all run, or that was stopped. Repeatable after an interruption. */
export async function finalizeBatch(deps: BatchesDeps, head: BatchHead): Promise<void> {
  const { batches, clock } = deps;
  if (head.stop === null) await batches.setStatus(head.id, "finalizing", clock.nowMs());
  else for (const part of await batches.unfinishedParts(head.id)) await endPart(deps, head, part, head.stop);
  const status = head.stop === null ? "completed" : STATUS_OF[head.stop];
  await batches.finish(head.id, status, clock.nowMs(), head.shape === "openai" ? await resultFiles(deps, head) : []);
}

/** Lines that never ran get an outcome that says why. */
async function endPart(deps: BatchesDeps, head: BatchHead, part: BatchPart, stop: StopReason): Promise<void> {
  const { files, batches, ids } = deps;
  const remains = await batches.partRemains(part);
  await settleRemains(deps, remains);
  const input = { id: head.inputFileId, workspaceId: head.workspaceId };
  const lines = linesIn((await files.chunk(input, part.number)) ?? Buffer.alloc(0));
  const outcomes = lines.flatMap((text, at): LineOutcome[] => {
    const line = part.firstLine + at;
    const request = parseLine(text, head);
    if (remains.done.has(line) || isProblem(request)) return [];
    const ref = { shape: head.shape, customId: request.customId, id: ids.next("req_") };
    return [
      {
        batchId: head.id,
        workspaceId: head.workspaceId,
        part: part.number,
        line,
        end: END_OF[stop],
        text: stoppedLine(ref, stop),
        record: null,
        usage: NO_USAGE,
      },
    ];
  });
  for (let at = 0; at < outcomes.length; at += OUTCOMES_PER_WRITE) {
    await batches.saveOutcomes(outcomes.slice(at, at + OUTCOMES_PER_WRITE));
    await nextTick();
  }
  await batches.finishPart(part);
}

/** Files without results are left out. */
async function resultFiles({ batches, ids, clock }: BatchesDeps, head: BatchHead): Promise<StoredFile[]> {
  const found: StoredFile[] = [];
  for (const [content, name] of [
    ["successes", "output"],
    ["errors", "error"],
  ] as const) {
    const bytes = await batches.resultBytes(head.id, content);
    if (bytes === undefined) continue;
    found.push({
      id: ids.next("file-"),
      workspaceId: head.workspaceId,
      keyId: head.keyId,
      createdAtMs: clock.nowMs(),
      expiresAtMs: head.keepUntilMs,
      purpose: "batch_output",
      filename: `${head.id}_${name}.jsonl`,
      bytes,
      content,
      batchId: head.id,
    });
  }
  return found;
}
