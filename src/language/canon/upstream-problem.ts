/** An error reported by a provider. */
export type UpstreamProblem = {
  readonly message: string;
  readonly code: string | null;
  readonly type: string | null;
  /** Status stated in the body, for errors inside a stream. */
  readonly status: number | null;
  /** Retry delay stated in the body; a `Retry-After` header takes precedence. */
  readonly retryAfterSeconds?: number;
};
