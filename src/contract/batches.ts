export const FILE_PURPOSES = ["batch", "batch_output"] as const;

export const BATCH_STATUSES = [
  "validating",
  "failed",
  "in_progress",
  "finalizing",
  "completed",
  "expired",
  "cancelling",
  "cancelled",
] as const;

/** Why a batch waits. */
export const PAUSE_REASONS = ["insufficient_credits", "spend_limit_reached"] as const;

/** The paths that the lines of a batch can call. */
export const BATCH_ENDPOINTS = [
  "/v1/chat/completions",
  "/v1/responses",
  "/v1/messages",
  "/v1/embeddings",
  "/v1/rerank",
  "/v1/moderations",
] as const;
