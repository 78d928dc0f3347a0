/** A provider's own error, `error.upstream` on the wire: redacted, bounded, and never logged. */
export type UpstreamError = {
  /** The provider's slug, as in `X-Svc-Provider`. */
  readonly provider: string;
  /** The HTTP status; for an error inside a stream the status that its code or type stands for. */
  readonly status: number | null;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  readonly message: string;
  /** The output that the provider could not parse as a tool call. */
  readonly failed_generation?: string;
};
