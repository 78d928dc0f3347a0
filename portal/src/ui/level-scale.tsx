import { useId } from "react";
import { type Level, LevelBadge } from "./badge.tsx";
import { cx } from "./class-names.ts";

type LevelOption = { readonly level: Level | null; readonly title: string; readonly description: string };

const LEVEL_OPTIONS: readonly LevelOption[] = [
  { level: null, title: "No floor", description: "All endpoints, including unclassified ones." },
  { level: "L0", title: "Assessed", description: "Third-country jurisdiction." },
  { level: "L1", title: "EU/EEA location", description: "Inference runs in the EU/EEA." },
  { level: "L2", title: "EU/EEA operation", description: "Operated in the EU/EEA, with certification." },
  { level: "L3", title: "EU/EEA control", description: "The operator is owned and controlled in the EU/EEA." },
  { level: "L4", title: "Full sovereignty", description: "No exceptions, including the infrastructure." },
];

/** Selects the floor; lower levels are excluded. */
export function LevelScale({
  label,
  value,
  onChange,
  disabled = false,
  counts,
}: {
  readonly label: string;
  readonly value: Level | null;
  readonly onChange: (level: Level | null) => void;
  readonly disabled?: boolean | undefined;
  /** Endpoints per level; `none` counts unclassified ones. */
  readonly counts?: Readonly<Record<string, number>> | undefined;
}) {
  const name = useId();
  const floor = LEVEL_OPTIONS.findIndex(({ level }) => level === value);
  return (
    <fieldset disabled={disabled} className="grid min-w-0 overflow-hidden rounded-md border">
      <legend className="sr-only">{label}</legend>
      {LEVEL_OPTIONS.map(({ level, title, description }, at) => {
        const isIncluded = at >= floor;
        const available = counts && sumOf(LEVEL_OPTIONS.slice(at).map((option) => counts[option.level ?? "none"]));
        return (
          <label
            key={title}
            className={cx(
              "relative flex min-h-11 cursor-pointer items-center gap-3 border-b border-l-3 px-3 py-2 last:border-b-0 has-checked:bg-accent-soft",
              isIncluded ? "border-l-accent" : "border-l-transparent",
              "has-focus-visible:outline-2 has-focus-visible:-outline-offset-2 has-focus-visible:outline-focus",
            )}
          >
            <input
              type="radio"
              name={name}
              checked={level === value}
              onChange={() => onChange(level)}
              className="size-4 shrink-0"
            />
            <span className="w-13 shrink-0">
              {level === null ? <span className="text-xs text-soft">None</span> : <LevelBadge level={level} />}
            </span>
            <span className="min-w-0 flex-1">
              <span className="font-medium">{title}</span>
              <span className="block text-xs text-soft">{description}</span>
            </span>
            {available !== undefined && (
              <span className="figures text-xs whitespace-nowrap text-soft">{available} available</span>
            )}
          </label>
        );
      })}
    </fieldset>
  );
}

function sumOf(counts: readonly (number | undefined)[]): number {
  return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
}
