import type { FaultCode } from "../../faults.ts";
import type { Route } from "../../route.ts";
import { BatchList, BatchObject, CreateBatchRequest, ListBatchesQuery } from "../../schemas/batches.ts";
import { CreateFileForm, FileDeleted, FileList, FileObject, ListFilesQuery } from "../../schemas/files.ts";
import {
  CreateMessageBatchRequest,
  ListMessageBatchesQuery,
  MessageBatch,
  MessageBatchDeleted,
  MessageBatchList,
} from "../../schemas/message-batches.ts";

type BatchRouteSpec = Pick<Route, "id" | "method" | "path" | "summary" | "description" | "answer"> &
  Partial<Pick<Route, "query" | "body" | "example" | "intake" | "storesUpload" | "errors">> & {
    readonly tag: string;
    readonly faults?: readonly FaultCode[];
  };

/** Managing files and batches is counted and costs nothing; the lines of a batch are charged and not counted. */
function batchRoute({ faults = [], intake = "none", ...spec }: BatchRouteSpec): Route {
  return {
    ...spec,
    intake,
    access: { by: "key", scope: "inference:batches" },
    switchedBy: "batches",
    counted: true,
    faults: [...faults, "batches_not_enabled"],
  };
}

const fileExample = {
  id: "file-0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
  object: "file",
  bytes: 1204,
  created_at: 1793836800,
  expires_at: 1796428800,
  filename: "requests.jsonl",
  purpose: "batch",
  status: "processed",
  status_details: null,
};

const batchExample = {
  id: "batch_0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
  object: "batch",
  endpoint: "/v1/chat/completions",
  model: null,
  errors: null,
  input_file_id: fileExample.id,
  completion_window: "24h",
  status: "in_progress",
  output_file_id: null,
  error_file_id: null,
  created_at: 1793836800,
  in_progress_at: 1793836801,
  expires_at: 1793923200,
  finalizing_at: null,
  completed_at: null,
  failed_at: null,
  expired_at: null,
  cancelling_at: null,
  cancelled_at: null,
  request_counts: { total: 1000, completed: 250, failed: 2 },
  usage: {
    input_tokens: 5040,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 12_600,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 17_640,
  },
  metadata: { run: "nightly" },
  svc: { requests: { total: 1000, ended: 252 }, cost: 0.0252, currency: "EUR", eta_seconds: 180, paused: null },
};

const FILE = "/v1/files/{file_id}";
const BATCH = "/v1/batches/{batch_id}";

export const BATCH_ROUTES: readonly Route[] = [
  batchRoute({
    id: "createFile",
    method: "POST",
    path: "/v1/files",
    intake: "multipart",
    storesUpload: true,
    tag: "Files",
    summary: "Upload a file for a batch",
    description:
      "JSON Lines with one request per line: `custom_id`, `method`, `url` and `body`. The file is encrypted and stored until it expires or is deleted.",
    body: CreateFileForm,
    answer: { is: "json", status: 200, schema: FileObject },
    faults: ["zero_data_retention_required"],
    example: { body: { file: "requests.jsonl", purpose: "batch" }, answer: fileExample },
  }),
  batchRoute({
    id: "listFiles",
    method: "GET",
    path: "/v1/files",
    tag: "Files",
    summary: "List files",
    description: "Uploaded files and results of batches. A member's personal key sees the member's own files only.",
    query: ListFilesQuery,
    answer: { is: "json", status: 200, schema: FileList },
    example: {
      answer: {
        object: "list",
        data: [fileExample],
        first_id: fileExample.id,
        last_id: fileExample.id,
        has_more: false,
      },
    },
  }),
  batchRoute({
    id: "getFile",
    method: "GET",
    path: FILE,
    tag: "Files",
    summary: "Retrieve a file",
    description: "What is known about the file, without its content.",
    answer: { is: "json", status: 200, schema: FileObject },
    example: { answer: fileExample },
  }),
  batchRoute({
    id: "deleteFile",
    method: "DELETE",
    path: FILE,
    tag: "Files",
    summary: "Delete a file",
    description: "The input of a batch that is not over cannot be deleted.",
    answer: { is: "json", status: 200, schema: FileDeleted },
    faults: ["conflict"],
    example: { answer: { id: fileExample.id, object: "file", deleted: true } },
  }),
  batchRoute({
    id: "getFileContent",
    method: "GET",
    path: `${FILE}/content`,
    tag: "Files",
    summary: "Download a file",
    description: "The bytes as they were uploaded, or the results of a batch in the order of its input.",
    answer: { is: "bytes", contentTypes: ["application/octet-stream"] },
  }),
  batchRoute({
    id: "createBatch",
    method: "POST",
    path: "/v1/batches",
    intake: "json",
    tag: "Batches",
    summary: "Run the requests of a file",
    description:
      "Every line is an ordinary request with its own log entry and charge, for any model and under the current policy. Lines run at low priority and do not count in the rate limit of the key. Without funds the batch waits until the wallet is topped up or the batch expires.",
    body: CreateBatchRequest,
    answer: { is: "json", status: 200, schema: BatchObject },
    faults: ["zero_data_retention_required", "not_found"],
    example: {
      body: { input_file_id: fileExample.id, endpoint: "/v1/chat/completions", completion_window: "24h" },
      answer: batchExample,
    },
  }),
  batchRoute({
    id: "listBatches",
    method: "GET",
    path: "/v1/batches",
    tag: "Batches",
    summary: "List batches",
    description: "Newest first. A member's personal key sees the member's own batches only.",
    query: ListBatchesQuery,
    answer: { is: "json", status: 200, schema: BatchList },
    example: {
      answer: {
        object: "list",
        data: [batchExample],
        first_id: batchExample.id,
        last_id: batchExample.id,
        has_more: false,
      },
    },
  }),
  batchRoute({
    id: "getBatch",
    method: "GET",
    path: BATCH,
    tag: "Batches",
    summary: "Retrieve a batch",
    description: "Its status and progress, with the cost so far and the time left in `svc`.",
    answer: { is: "json", status: 200, schema: BatchObject },
    example: { answer: batchExample },
  }),
  batchRoute({
    id: "cancelBatch",
    method: "POST",
    path: `${BATCH}/cancel`,
    tag: "Batches",
    summary: "Cancel a batch",
    description:
      "Requests that are running end and are charged; the others never run. The results so far can be downloaded once the status is `cancelled`.",
    answer: { is: "json", status: 200, schema: BatchObject },
    faults: ["conflict"],
    example: { answer: { ...batchExample, status: "cancelling", cancelling_at: 1793836900 } },
  }),
  ...messageBatchRoutes(),
];

function messageBatchRoutes(): readonly Route[] {
  const messageBatch = {
    id: "msgbatch_0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
    type: "message_batch",
    processing_status: "in_progress",
    request_counts: { processing: 1000, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
    created_at: "2026-11-05T10:00:00.000Z",
    expires_at: "2026-11-06T10:00:00.000Z",
    ended_at: null,
    cancel_initiated_at: null,
    archived_at: null,
    results_url: null,
    svc: batchExample.svc,
  };
  const params = { model: "sandbox/chat", max_tokens: 64, messages: [{ role: "user", content: "Hello!" }] };
  const all = "/v1/messages/batches";
  const one = `${all}/{batch_id}`;
  const messagesRoute = (spec: Omit<BatchRouteSpec, "tag">) =>
    batchRoute({ ...spec, tag: "Batches", errors: "messages" });
  return [
    messagesRoute({
      id: "createMessageBatch",
      method: "POST",
      path: all,
      intake: "json",
      storesUpload: true,
      summary: "Run many messages",
      description:
        "Each request is an ordinary call of POST /v1/messages, as in a batch of a file. The body is read as it arrives and may be as large as a file.",
      body: CreateMessageBatchRequest,
      answer: { is: "json", status: 200, schema: MessageBatch },
      faults: ["zero_data_retention_required"],
      example: { body: { requests: [{ custom_id: "a", params }] }, answer: messageBatch },
    }),
    messagesRoute({
      id: "listMessageBatches",
      method: "GET",
      path: all,
      summary: "List message batches",
      description: "Newest first. A member's personal key sees the member's own batches only.",
      query: ListMessageBatchesQuery,
      answer: { is: "json", status: 200, schema: MessageBatchList },
      example: {
        answer: { data: [messageBatch], has_more: false, first_id: messageBatch.id, last_id: messageBatch.id },
      },
    }),
    messagesRoute({
      id: "getMessageBatch",
      method: "GET",
      path: one,
      summary: "Retrieve a message batch",
      description: "Its status, and in `svc` its progress, cost so far and time left.",
      answer: { is: "json", status: 200, schema: MessageBatch },
      example: { answer: messageBatch },
    }),
    messagesRoute({
      id: "deleteMessageBatch",
      method: "DELETE",
      path: one,
      summary: "Delete a message batch",
      description: "With its requests and results. It must have ended.",
      answer: { is: "json", status: 200, schema: MessageBatchDeleted },
      faults: ["conflict"],
      example: { answer: { id: messageBatch.id, type: "message_batch_deleted" } },
    }),
    messagesRoute({
      id: "cancelMessageBatch",
      method: "POST",
      path: `${one}/cancel`,
      summary: "Cancel a message batch",
      description: "Requests that are running end and are charged; the others never run.",
      answer: { is: "json", status: 200, schema: MessageBatch },
      faults: ["conflict"],
      example: { answer: { ...messageBatch, processing_status: "canceling" } },
    }),
    messagesRoute({
      id: "getMessageBatchResults",
      method: "GET",
      path: `${one}/results`,
      summary: "Download the results of a message batch",
      description: "JSON Lines in the order of the requests, once the batch has ended.",
      answer: { is: "bytes", contentTypes: ["application/x-jsonl"] },
      faults: ["conflict"],
    }),
  ];
}
