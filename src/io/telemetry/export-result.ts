/** `later`: retry; `refused`: the receiver rejected the content, so a retry is pointless. */
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

/** Statuses that reject the content itself. */
const UNRETRYABLE_STATUSES: ReadonlySet<number> = new Set([400, 413, 422]);

export function exportResultOf(posted: PostResult): ExportResult {
  if (posted.is !== "answered") return "later";
  if (posted.status >= 200 && posted.status < 300) return "sent";
  return UNRETRYABLE_STATUSES.has(posted.status) ? "refused" : "later";
}
