import { z } from "zod";
import { BatchService } from "./batches.ts";
import { MessagesRequest } from "./messages.ts";

const LIMIT_MAX = 1000;

export const CreateMessageBatchRequest = z
  .strictObject({
    requests: z
      .array(
        z.strictObject({
          custom_id: z
            .string()
            .regex(/^[A-Za-z0-9_-]{1,64}$/)
            .describe("Unique in the batch."),
          params: MessagesRequest.describe("The body of POST /v1/messages, without `stream`."),
        }),
      )
      .min(1),
  })
  .meta({ id: "CreateMessageBatchRequest" });

export const ListMessageBatchesQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(LIMIT_MAX).default(20),
  after_id: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe("A batch id: returns the batches after it, which are older."),
  before_id: z.string().min(1).max(256).optional().describe("A batch id: returns the batches before it."),
  beta: z.string().max(16).optional().describe("Accepted for compatibility."),
});

const time = z.iso.datetime().nullable();

export const MessageBatch = z
  .object({
    id: z.string(),
    type: z.literal("message_batch"),
    processing_status: z.enum(["in_progress", "canceling", "ended"]),
    request_counts: z
      .object({
        processing: z.int(),
        succeeded: z.int(),
        errored: z.int(),
        canceled: z.int(),
        expired: z.int(),
      })
      .describe("All are in `processing` until the batch has ended; `svc.requests` has the progress."),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    ended_at: time,
    cancel_initiated_at: time,
    archived_at: z.null(),
    results_url: z.string().nullable(),
    svc: BatchService,
  })
  .meta({ id: "MessageBatch" });

export const MessageBatchList = z
  .object({
    data: z.array(MessageBatch),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .meta({ id: "MessageBatchList" });

export const MessageBatchDeleted = z
  .object({ id: z.string(), type: z.literal("message_batch_deleted") })
  .meta({ id: "MessageBatchDeleted" });
