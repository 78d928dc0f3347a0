/** What became of a message. `refused`: what is in it was not taken, and would not be another time. */
export type ExportResult = "sent" | "later" | "refused";

export type PostResult =
  | { readonly is: "answered"; readonly status: number }
  | { readonly is: "refused" | "failed"; readonly why: string };

export type PostRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
};

/** What a receiver answers to data that it does not take. Everything else somebody can mend, or passes by itself. */
const UNRETRYABLE_STATUSES: ReadonlySet<number> = new Set([400, 413, 422]);

export function exportResultOf(posted: PostResult): ExportResult {
  if (posted.is !== "answered") return "later";
  if (posted.status >= 200 && posted.status < 300) return "sent";
  return UNRETRYABLE_STATUSES.has(posted.status) ? "refused" : "later";
}
