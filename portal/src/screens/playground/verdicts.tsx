import { valueAt } from "./model-reply.ts";

/** Categories by score, highest first; those that apply are marked. */
export function Verdicts({ body }: { readonly body: unknown }) {
  const results = valueAt(body, "results");
  return (
    <div className="grid gap-4">
      {(Array.isArray(results) ? results : []).map((result, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: results have no other name than their place
        <Verdict key={index} result={result} />
      ))}
    </div>
  );
}

function Verdict({ result }: { readonly result: unknown }) {
  const scores = valueAt(result, "category_scores");
  const rows = Object.entries(typeof scores === "object" && scores !== null ? scores : {});
  return (
    <section className="grid gap-2">
      <p className="font-medium">{valueAt(result, "flagged") === true ? "Flagged" : "Not flagged"}</p>
      <ul className="grid gap-1">
        {rows
          .toSorted(([, one], [, other]) => Number(other) - Number(one))
          .map(([category, score]) => (
            <li key={category} className="flex justify-between gap-4">
              <span>
                {category}
                {valueAt(valueAt(result, "categories"), category) === true && " (applies)"}
              </span>
              <span className="figures text-soft">{score === null ? "Not judged" : Number(score).toFixed(4)}</span>
            </li>
          ))}
      </ul>
    </section>
  );
}
