import { percentText } from "../../format/number.ts";
import { cx } from "../../ui/class-names.ts";
import { PART_WORDS, PARTS, percentOf, type Weights } from "./spec.ts";

/** Three weights as one bar, with their figures for those who cannot see it. */
export function WeightBar({ weights }: { readonly weights: Weights }) {
  const percent = percentOf(weights);
  const words = PARTS.map((part) => `${PART_WORDS[part].name} ${percentText(percent[part] / 100)}`).join(", ");
  return (
    <span title={words} className="inline-flex w-28 items-center">
      <span aria-hidden="true" className="flex h-2 w-full gap-px overflow-hidden rounded-full bg-line">
        {PARTS.map((part) => (
          <span key={part} className={cx("h-full", PART_WORDS[part].colour)} style={{ width: `${percent[part]}%` }} />
        ))}
      </span>
      <span className="sr-only">{words}</span>
    </span>
  );
}

/** Which colour is which. */
export function PartLegend() {
  return (
    <span className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
      {PARTS.map((part) => (
        <span key={part} className="inline-flex items-center gap-1.5">
          <span aria-hidden="true" className={cx("size-2.5 rounded-sm", PART_WORDS[part].colour)} />
          {PART_WORDS[part].name}
        </span>
      ))}
    </span>
  );
}
