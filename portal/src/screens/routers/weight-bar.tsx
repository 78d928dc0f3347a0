import { percentText } from "../../format/number.ts";
import { cx } from "../../ui/class-names.ts";
import { CRITERIA, CRITERION_LABELS, percentOf, type Weights } from "./router-spec.ts";

/** Weights as one bar, with a text alternative. */
export function WeightBar({ weights }: { readonly weights: Weights }) {
  const percent = percentOf(weights);
  const weightsText = CRITERIA.map(
    (criterion) => `${CRITERION_LABELS[criterion].name} ${percentText(percent[criterion] / 100)}`,
  ).join(", ");
  return (
    <span title={weightsText} className="inline-flex w-28 items-center">
      <span aria-hidden="true" className="flex h-2 w-full gap-px overflow-hidden rounded-full bg-line">
        {CRITERIA.map((criterion) => (
          <span
            key={criterion}
            className={cx("h-full", CRITERION_LABELS[criterion].colour)}
            style={{ width: `${percent[criterion]}%` }}
          />
        ))}
      </span>
      <span className="sr-only">{weightsText}</span>
    </span>
  );
}

export function CriteriaLegend() {
  return (
    <span className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
      {CRITERIA.map((criterion) => (
        <span key={criterion} className="inline-flex items-center gap-1.5">
          <span aria-hidden="true" className={cx("size-2.5 rounded-sm", CRITERION_LABELS[criterion].colour)} />
          {CRITERION_LABELS[criterion].name}
        </span>
      ))}
    </span>
  );
}
