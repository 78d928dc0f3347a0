import { integer, onOff, setting } from "./setting-types.ts";

const MEGABYTE = 1024 * 1024;

/** Files and batches. */
export const BATCH_SETTINGS = {
  GATEWAY_BATCHES: setting(
    onOff,
    "on",
    "Files and batches (/v1/files, /v1/batches). off: they respond with batches_not_enabled, and batches that are not over wait.",
  ),
  GATEWAY_BATCH_CONCURRENCY: setting(
    integer(1, 10_000),
    32,
    "Batch requests that run at the same time in one process. While other requests run it is a quarter of them.",
  ),
  GATEWAY_BATCH_MAX_LINES: setting(integer(1, 10_000_000), 100_000, "Requests of one batch."),
  GATEWAY_BATCHES_WORKSPACE_MAX: setting(integer(0, 1_000_000), 50, "Batches of one workspace that are not over."),
  GATEWAY_BATCH_PAUSE_MS: setting(
    integer(100, 3_600_000),
    10_000,
    "How long a batch without funds waits before its next request.",
  ),
  GATEWAY_FILE_MAX_BYTES: setting(integer(1024, 1_099_511_627_776), 200 * MEGABYTE, "Largest uploaded file."),
  GATEWAY_FILES_MAX_BYTES: setting(
    integer(0, 1_000_000_000_000_000),
    2048 * MEGABYTE,
    "Total size of the files of one workspace, results of batches included. Above it uploads are refused.",
  ),
} as const;
