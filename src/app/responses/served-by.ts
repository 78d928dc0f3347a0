import type { ServedBy } from "../../domain/responses/response-store.ts";

/** Why it was routed so, and how long that took, is in the log alone. */
const KEPT = [
  ...["x-svc-model", "x-svc-provider", "x-svc-sovereignty-level"],
  ...["x-svc-compute-countries", "x-svc-upstream-surface"],
];

/** What is kept of the headers of an answer. */
export function servedByHeaders(headers: Readonly<Record<string, string>>): ServedBy {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => KEPT.includes(name)));
}
