import type { FaultCode } from "../../faults.ts";
import type { Route } from "../../route.ts";
import { BatchList, BatchObject, CreateBatchRequest, ListBatchesQuery } from "../../schemas/batches.ts";
import { CreateFileForm, FileDeleted, FileList, FileObject, ListFilesQuery } from "../../schemas/files.ts";

type BatchRouteSpec = Pick<Route, "id" | "method" | "path" | "summary" | "description" | "answer"> &
  Partial<Pick<Route, "query" | "body" | "example" | "intake" | "storesUpload">> & {
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
  svc: { cost: 0.0252, currency: "EUR", eta_seconds: 180, paused: null },
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
];
