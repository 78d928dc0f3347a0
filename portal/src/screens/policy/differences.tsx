import { type Difference, RULE_LABELS } from "./policy-draft.ts";

export function Differences({ rows }: { readonly rows: readonly Difference[] }) {
  return (
    <ul className="grid gap-1">
      {rows.map(({ rule, before, after }) => (
        <li key={rule} className="flex flex-wrap items-baseline gap-x-2">
          <span className="text-soft">{RULE_LABELS[rule]}:</span>
          <span className="text-faint line-through decoration-line-strong">{before}</span>
          <span aria-hidden="true" className="text-faint">
            →
          </span>
          <span className="sr-only">to</span>
          <span className="font-medium text-ink">{after}</span>
        </li>
      ))}
    </ul>
  );
}
