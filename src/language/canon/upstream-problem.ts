/** An error reported by a provider. */
export type UpstreamProblem = {
  readonly message: string;
  /** The code by which the failure is classified. */
  readonly code: string | null;
  /** The code that the provider sent, if `code` was derived from something else. */
  readonly statedCode?: string | null | undefined;
  readonly type: string | null;
  /** The request field that the provider names. */
  readonly param?: string | undefined;
  /** The output that the provider could not parse as a tool call. */
  readonly failedGeneration?: string | undefined;
  /** Status stated in the body, for errors inside a stream. */
  readonly status: number | null;
  /** Retry delay stated in the body; a `Retry-After` header takes precedence. */
  readonly retryAfterSeconds?: number | undefined;
};

export const NO_REASON_STATED = "the provider stated no reason";

/** More than a caller receives, so that secrets are redacted before the message is cut. */
const PROBLEM_TEXT_CHARS_MAX = 64 * 1024;

/** The first non-empty text, up to a limit. */
export function problemText(...values: readonly unknown[]): string | null {
  for (const value of values)
    if (typeof value === "string" && value !== "") return value.slice(0, PROBLEM_TEXT_CHARS_MAX);
  return null;
}
