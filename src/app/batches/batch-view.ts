import { type Batch, type BatchProgress, isBatchOver, NO_PROGRESS } from "../../domain/batches/batch.ts";
import { NANOS_PER_UNIT } from "../../kit/money.ts";
import { stopError } from "./result-lines.ts";

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;

const seconds = (atMs: number | undefined): number | null => (atMs === undefined ? null : Math.floor(atMs / SECOND_MS));

function endedLines({ succeeded, errored, cancelled, expired }: BatchProgress): number {
  return succeeded + errored + cancelled + expired;
}

/** Remaining seconds at the pace so far; null: unknown, or over. */
function etaSeconds(batch: Batch, progress: BatchProgress, nowMs: number): number | null {
  const startedMs = batch.times.in_progress;
  const done = endedLines(progress);
  if (isBatchOver(batch) || batch.pause !== null || startedMs === undefined || done === 0) return null;
  return Math.ceil(((batch.total - done) * Math.max(1, nowMs - startedMs)) / done / SECOND_MS);
}

const isoTime = (atMs: number | undefined): string | null => (atMs === undefined ? null : new Date(atMs).toISOString());

/** What the gateway adds to the formats of others: cost so far, time left, and why the batch waits. */
function serviceView(batch: Batch, progress: BatchProgress, currency: string, nowMs: number) {
  const { pause } = batch;
  return {
    requests: { total: batch.total, ended: endedLines(progress) },
    cost: Number(progress.costNanos) / Number(NANOS_PER_UNIT),
    currency,
    eta_seconds: etaSeconds(batch, progress, nowMs),
    paused: pause === null ? null : { reason: pause.reason, since: seconds(pause.sinceMs) },
  };
}

/** The batch object of the OpenAI API. */
export function batchView(batch: Batch, progress: BatchProgress = NO_PROGRESS, currency: string, nowMs: number) {
  const { times } = batch;
  const { succeeded, errored, inputTokens, outputTokens, cachedTokens, reasoningTokens } = progress;
  return {
    id: batch.id,
    object: "batch",
    endpoint: batch.endpoint,
    model: null,
    errors: errorsView(batch),
    input_file_id: batch.inputFileId,
    completion_window: `${Math.round((batch.expiresAtMs - batch.createdAtMs) / HOUR_MS)}h`,
    status: batch.status,
    output_file_id: batch.outputFileId,
    error_file_id: batch.errorFileId,
    created_at: Math.floor(batch.createdAtMs / SECOND_MS),
    in_progress_at: seconds(times.in_progress),
    expires_at: Math.floor(batch.expiresAtMs / SECOND_MS),
    finalizing_at: seconds(times.finalizing),
    completed_at: seconds(times.completed),
    failed_at: seconds(times.failed),
    expired_at: seconds(times.expired),
    cancelling_at: seconds(times.cancelling),
    cancelled_at: seconds(times.cancelled),
    request_counts: { total: batch.total, completed: succeeded, failed: errored },
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    },
    metadata: batch.origin.metadata,
    svc: serviceView(batch, progress, currency, nowMs),
  };
}

function errorsView({ errors, stop }: Batch) {
  const isUnusual = stop === "key_invalid" || stop === "retention_forbidden";
  const data = isUnusual ? [...errors, { ...stopError(stop), param: null, line: null }] : errors;
  return data.length === 0 ? null : { object: "list", data };
}

type MessageBatchScope = { readonly currency: string; readonly nowMs: number; readonly origin: string };

/** The batch object of the messages API: counts are in `processing` until the whole batch has ended. */
export function messageBatchView(
  batch: Batch,
  progress: BatchProgress = NO_PROGRESS,
  { currency, nowMs, origin }: MessageBatchScope,
) {
  const { times, status } = batch;
  const isOver = isBatchOver(batch);
  const { succeeded, errored, cancelled, expired } = isOver ? progress : NO_PROGRESS;
  const endedMs = times.completed ?? times.cancelled ?? times.expired ?? times.failed;
  return {
    id: batch.id,
    type: "message_batch",
    processing_status: isOver ? "ended" : status === "cancelling" ? "canceling" : "in_progress",
    request_counts: {
      processing: isOver ? 0 : batch.total,
      succeeded,
      errored,
      canceled: cancelled,
      expired,
    },
    created_at: new Date(batch.createdAtMs).toISOString(),
    expires_at: new Date(batch.expiresAtMs).toISOString(),
    ended_at: isoTime(endedMs),
    cancel_initiated_at: isoTime(times.cancelling),
    archived_at: null,
    results_url: isOver ? `${origin}/v1/messages/batches/${batch.id}/results` : null,
    svc: serviceView(batch, progress, currency, nowMs),
  };
}
