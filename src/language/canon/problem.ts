/** What a provider says went wrong, in its own words. */
export type UpstreamProblem = {
  readonly message: string;
  readonly code: string | null;
  readonly type: string | null;
  /** A status that stands in the body, for errors inside a stream. */
  readonly status: number | null;
  /** Where the body says when to come back; a header wins. */
  readonly retryAfterSeconds?: number;
};
