import { type Difference, RULE_WORDS } from "./draft.ts";

/** What changed, rule by rule: before and after. */
export function Differences({ rows }: { readonly rows: readonly Difference[] }) {
  return (
    <ul className="grid gap-1">
      {rows.map(({ rule, before, after }) => (
        <li key={rule} className="flex flex-wrap items-baseline gap-x-2">
          <span className="text-soft">{RULE_WORDS[rule]}:</span>
          <span className="text-faint line-through decoration-line-strong">{before}</span>
          <span aria-hidden="true" className="text-faint">
            →
          </span>
          <span className="sr-only">now</span>
          <span className="font-medium text-ink">{after}</span>
        </li>
      ))}
    </ul>
  );
}
