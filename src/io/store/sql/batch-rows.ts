import type { Selectable } from "kysely";
import { z } from "zod";
import { BATCH_STATUSES, PAUSE_REASONS } from "../../../contract/batches.ts";
import {
  type Batch,
  type BatchHead,
  type BatchProgress,
  type BatchStatus,
  STOP_REASONS,
} from "../../../domain/batches/batch.ts";
import type { Database } from "./schema.ts";
import type { SealedContent } from "./sealed-content.ts";

export type BatchRow = Selectable<Database["batches"]>;

export const UNFINISHED = ["validating", "in_progress", "finalizing", "cancelling"] as const satisfies BatchStatus[];

export const HEAD_COLUMNS = [
  ...(["id", "workspace_id", "key_id", "shape", "endpoint", "input_file_id", "status", "created_at_ms"] as const),
  ...([
    "expires_at_ms",
    "keep_until_ms",
    "total",
    "stop",
    "pause",
    "times",
    "output_file_id",
    "error_file_id",
  ] as const),
] as const;

export const PROGRESS_COLUMNS = [
  ...(["succeeded", "errored", "cancelled", "expired", "cost_nanos"] as const),
  ...(["input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"] as const),
] as const;

export type ProgressRow = Pick<Selectable<Database["batch_parts"]>, (typeof PROGRESS_COLUMNS)[number]>;

const status = z.enum(BATCH_STATUSES);
const stop = z.enum(STOP_REASONS).nullable();
const times = z.partialRecord(status, z.number());
const pause = z.object({ reason: z.enum(PAUSE_REASONS), sinceMs: z.number(), untilMs: z.number() });
const texts = z.record(z.string(), z.string());
const origin = z.object({ headers: texts, clientAddress: z.string(), metadata: texts.nullable() });
const errors = z.array(
  z.object({
    code: z.string(),
    message: z.string(),
    param: z.string().nullable(),
    line: z.number().nullable(),
  }),
);

export function toHead(row: Pick<BatchRow, (typeof HEAD_COLUMNS)[number]>): BatchHead {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    keyId: row.key_id,
    shape: row.shape === "anthropic" ? "anthropic" : "openai",
    endpoint: row.endpoint,
    inputFileId: row.input_file_id,
    status: status.parse(row.status),
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
    keepUntilMs: row.keep_until_ms,
    total: row.total,
    stop: stop.parse(row.stop),
    pause: row.pause === null ? null : pause.parse(JSON.parse(row.pause)),
    times: times.parse(JSON.parse(row.times)),
    outputFileId: row.output_file_id,
    errorFileId: row.error_file_id,
  };
}

export async function toBatch(sealed: SealedContent, row: BatchRow): Promise<Batch> {
  const open = await sealed.opener(row.workspace_id);
  const found = (column: string, content: Uint8Array): unknown =>
    JSON.parse(open(column, row.id, content).toString("utf8"));
  return {
    ...toHead(row),
    origin: origin.parse(found("origin", row.origin)),
    errors: row.errors === null ? [] : errors.parse(found("errors", row.errors)),
  };
}

export async function fromBatch(sealed: SealedContent, batch: Batch): Promise<BatchRow> {
  const { id, workspaceId } = batch;
  return {
    id,
    workspace_id: workspaceId,
    key_id: batch.keyId,
    shape: batch.shape,
    endpoint: batch.endpoint,
    input_file_id: batch.inputFileId,
    status: batch.status,
    created_at_ms: batch.createdAtMs,
    expires_at_ms: batch.expiresAtMs,
    keep_until_ms: batch.keepUntilMs,
    total: batch.total,
    stop: batch.stop,
    pause: batch.pause === null ? null : JSON.stringify(batch.pause),
    times: JSON.stringify(batch.times),
    output_file_id: batch.outputFileId,
    error_file_id: batch.errorFileId,
    origin: await sealed.seal({ workspaceId, column: "origin", row: id }, JSON.stringify(batch.origin)),
    errors: null,
    lease_owner: "",
    lease_until_ms: 0,
  };
}

export function toProgress(row: ProgressRow): BatchProgress {
  return {
    succeeded: row.succeeded,
    errored: row.errored,
    cancelled: row.cancelled,
    expired: row.expired,
    costNanos: row.cost_nanos,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cachedTokens: row.cached_tokens,
    reasoningTokens: row.reasoning_tokens,
  };
}
