/** Statuses of refused and failed requests: those of the error codes, and 499 for a client that disconnected. */
export const STATUS_CODES = [
  400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 422, 426, 429, 431, 499, 500, 501, 502, 503, 504, 508,
] as const;
