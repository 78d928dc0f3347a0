import { isUtf8 } from "node:buffer";
import { setImmediate as nextTick } from "node:timers/promises";
import type { BatchError, BatchHead, BatchPart } from "../../domain/batches/batch.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { isProblem, parseLine } from "./batch-lines.ts";
import type { BatchesDeps } from "./batches-context.ts";
import { linesIn } from "./line-chunker.ts";

const ERRORS_MAX = 100;
/** Of a digest; enough to tell 100,000 ids apart, in a fraction of the memory. */
const DIGEST_CHARS = 20;

/** Checks every line and starts the batch, or ends it as failed. Every event-loop turn reads one chunk. */
export async function validateBatch(
  { files, batches, limits, clock }: Pick<BatchesDeps, "files" | "batches" | "limits" | "clock">,
  head: BatchHead,
): Promise<void> {
  const { id, workspaceId, inputFileId } = head;
  const errors: BatchError[] = [];
  const parts: BatchPart[] = [];
  const seen = new Set<string>();
  let firstLine = 0;
  const input = { id: inputFileId, workspaceId };
  for (const number of await files.chunkNumbers(inputFileId)) {
    const chunk = await files.chunk(input, number);
    if (chunk === undefined) break;
    if (!isUtf8(chunk)) errors.push(fileError("invalid_json_line", "The input file is not UTF-8."));
    const lines = linesIn(chunk);
    for (const [at, text] of lines.entries()) {
      const found = lineError(text, head, seen, firstLine + at + 1);
      if (found !== undefined && errors.length < ERRORS_MAX) errors.push(found);
    }
    parts.push({ batchId: id, number, firstLine, lines: lines.length });
    firstLine += lines.length;
    if (firstLine > limits.linesMax) break;
    await nextTick();
  }
  if (firstLine === 0) errors.unshift(fileError("empty_file", "The input file has no requests."));
  if (firstLine > limits.linesMax)
    errors.unshift(
      fileError(
        "too_many_requests",
        `The input file has more than ${limits.linesMax} requests, the limit (GATEWAY_BATCH_MAX_LINES). Split it.`,
      ),
    );
  if (errors.length > 0) await batches.fail(head, errors, clock.nowMs());
  else await batches.start(id, parts, clock.nowMs());
}

const fileError = (code: string, message: string): BatchError => ({ code, message, param: null, line: null });

function lineError(text: string, head: BatchHead, seen: Set<string>, line: number): BatchError | undefined {
  const parsed = parseLine(text, head);
  if (isProblem(parsed)) return { ...parsed, message: `Line ${line} ${parsed.message}.`, line };
  const digest = sha256Hex(parsed.customId).slice(0, DIGEST_CHARS);
  if (seen.has(digest))
    return {
      code: "duplicate_custom_id",
      message: `Line ${line} has a custom_id that an earlier line has.`,
      param: "custom_id",
      line,
    };
  seen.add(digest);
  return undefined;
}
