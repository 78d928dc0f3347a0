/** What became of a message. `refused`: what is in it was not taken, and would not be another time. */
export type Posting = "sent" | "later" | "refused";

export type PostedAnswer =
  | { readonly is: "answered"; readonly status: number }
  | { readonly is: "refused" | "failed"; readonly why: string };

export type PostMessage = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
};

/** What a receiver answers to data that it does not take. Everything else somebody can mend, or passes by itself. */
const UNFIT: ReadonlySet<number> = new Set([400, 413, 422]);

export function postingOf(posted: PostedAnswer): Posting {
  if (posted.is !== "answered") return "later";
  if (posted.status >= 200 && posted.status < 300) return "sent";
  return UNFIT.has(posted.status) ? "refused" : "later";
}
