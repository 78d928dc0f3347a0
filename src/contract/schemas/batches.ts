import { z } from "zod";
import { BATCH_ENDPOINTS, BATCH_STATUSES, PAUSE_REASONS } from "../batches.ts";

const METADATA_PAIRS_MAX = 16;
const HOUR_SECONDS = 3600;
const MONTH_SECONDS = 2_592_000;

const Metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= METADATA_PAIRS_MAX, `must have at most ${METADATA_PAIRS_MAX} pairs`);

export const CreateBatchRequest = z
  .strictObject({
    input_file_id: z.string().min(1).max(256).describe("A file with the purpose `batch`: one request per line."),
    endpoint: z
      .enum(BATCH_ENDPOINTS)
      .describe("The path that every line calls; the key needs its scope as well as `inference:batches`."),
    completion_window: z.literal("24h").describe("Requests that have not run by then never will."),
    metadata: Metadata.nullish(),
    output_expires_after: z
      .strictObject({
        anchor: z.literal("created_at"),
        seconds: z.int().min(HOUR_SECONDS).max(MONTH_SECONDS),
      })
      .nullish()
      .describe("How long the results are kept after the window. Default: the retention of the deployment, 30 days."),
  })
  .meta({ id: "CreateBatchRequest" });

export const ListBatchesQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  after: z.string().min(1).max(256).optional().describe("A batch id: returns the batches after it, which are older."),
});

const time = z.int().nullable();

export const BatchService = z
  .object({
    requests: z.object({ total: z.int(), ended: z.int() }).describe("How many of the requests have ended."),
    cost: z.number().describe("Charged so far."),
    currency: z.string(),
    eta_seconds: z.int().nullable().describe("Time left at the pace so far; null while it is unknown."),
    paused: z
      .object({ reason: z.enum(PAUSE_REASONS), since: time })
      .nullable()
      .describe("Set while the batch waits for funds. It continues once there are enough."),
  })
  .meta({ id: "BatchService" });

export const BatchObject = z
  .object({
    id: z.string(),
    object: z.literal("batch"),
    endpoint: z.string(),
    model: z.null(),
    errors: z
      .object({
        object: z.literal("list"),
        data: z.array(
          z.object({
            code: z.string(),
            message: z.string(),
            param: z.string().nullable(),
            line: z.int().nullable(),
          }),
        ),
      })
      .nullable(),
    input_file_id: z.string(),
    completion_window: z.string(),
    status: z.enum(BATCH_STATUSES),
    output_file_id: z.string().nullable().describe("Successful requests, in the order of the input."),
    error_file_id: z.string().nullable().describe("Failed requests, and those that never ran."),
    created_at: z.int(),
    in_progress_at: time,
    expires_at: z.int(),
    finalizing_at: time,
    completed_at: time,
    failed_at: time,
    expired_at: time,
    cancelling_at: time,
    cancelled_at: time,
    request_counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
    usage: z.object({
      input_tokens: z.int(),
      input_tokens_details: z.object({ cached_tokens: z.int() }),
      output_tokens: z.int(),
      output_tokens_details: z.object({ reasoning_tokens: z.int() }),
      total_tokens: z.int(),
    }),
    metadata: z.record(z.string(), z.string()).nullable(),
    svc: BatchService,
  })
  .meta({ id: "Batch" });

export const BatchList = z
  .object({
    object: z.literal("list"),
    data: z.array(BatchObject),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: "BatchList" });
