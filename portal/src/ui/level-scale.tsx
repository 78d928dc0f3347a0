import { useId } from "react";
import { type Level, LevelBadge } from "./badge.tsx";
import { cx } from "./class-names.ts";

type Rung = { readonly level: Level | null; readonly title: string; readonly says: string };

const RUNGS: readonly Rung[] = [
  { level: null, title: "No floor", says: "Every endpoint, also those that nobody has assessed yet." },
  { level: "L0", title: "Assessed", says: "Foreign jurisdiction: served under third-country law." },
  { level: "L1", title: "EU/EEA location", says: "Inference runs on EU/EEA soil." },
  { level: "L2", title: "EU/EEA operation", says: "Operated in the EU/EEA, with certification." },
  { level: "L3", title: "EU/EEA control", says: "The operator is owned and controlled in the EU/EEA." },
  { level: "L4", title: "Full sovereignty", says: "No exceptions, down to the infrastructure." },
];

/** The least level as a ladder: what stands below the floor is kept out. */
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
  /** How many endpoints stand on each rung; `none` is what has no level. */
  readonly counts?: Readonly<Record<string, number>> | undefined;
}) {
  const name = useId();
  const floor = RUNGS.findIndex(({ level }) => level === value);
  return (
    <fieldset disabled={disabled} className="grid min-w-0 overflow-hidden rounded-md border">
      <legend className="sr-only">{label}</legend>
      {RUNGS.map(({ level, title, says }, at) => {
        const isIn = at >= floor;
        const remain = counts && sumOf(RUNGS.slice(at).map((rung) => counts[rung.level ?? "none"]));
        return (
          <label
            key={title}
            className={cx(
              "relative flex min-h-11 cursor-pointer items-center gap-3 border-b border-l-3 px-3 py-2 last:border-b-0 has-checked:bg-accent-soft",
              isIn ? "border-l-accent" : "border-l-transparent",
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
              {level === null ? <span className="text-xs text-soft">none</span> : <LevelBadge level={level} />}
            </span>
            <span className="min-w-0 flex-1">
              <span className="font-medium">{title}</span>
              <span className="block text-xs text-soft">{says}</span>
            </span>
            {remain !== undefined && (
              <span className="figures text-xs whitespace-nowrap text-soft">{remain} remain</span>
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
