import { valueAt } from "./model-reply.ts";

/** Documents, most relevant first, with their scores. */
export function Ranking({ body }: { readonly body: unknown }) {
  const results = valueAt(body, "results");
  const rows = Array.isArray(results) ? results : [];
  return (
    <ol className="grid gap-2">
      {rows.map((row) => (
        <li key={String(valueAt(row, "index"))} className="flex justify-between gap-4 rounded-md border px-3 py-2">
          <span className="[overflow-wrap:anywhere]">{String(valueAt(valueAt(row, "document"), "text") ?? "")}</span>
          <span className="figures text-soft">{Number(valueAt(row, "relevance_score")).toFixed(4)}</span>
        </li>
      ))}
    </ol>
  );
}
