import { area, line } from "d3-shape";

export type Series = {
  readonly id: string;
  readonly label: string;
  /** `null`: nothing is known there, and the line has a gap. As many as there are `x`. */
  readonly values: readonly (number | null)[];
};

/** A series with its colour. Beyond eight colours the line is dashed, so that two never look the same. */
export type Shown = Series & { readonly colour: string; readonly dash: string | undefined };

export type Bounds = readonly (readonly [low: number, high: number])[];

export type Layout = {
  readonly y: (value: number) => number;
  readonly ticks: readonly number[];
  /** Where the axis stands: its figures are left of it. */
  readonly left: number;
  readonly centre: (index: number) => number;
  readonly bandWidth: number;
  /** For each series its lower and upper bound at each point. */
  readonly stack: readonly Bounds[];
  readonly isStacked: boolean;
};

const COLOURS = 8;
const DASHES = [undefined, "6 3", "2 3"] as const;

/** Colours stay with their series when others are hidden. */
export function drawn(series: readonly Series[], hidden: ReadonlySet<string>): Shown[] {
  return series
    .map((one, index) => ({
      ...one,
      colour: `var(--color-c${(index % COLOURS) + 1})`,
      dash: DASHES[Math.floor(index / COLOURS) % DASHES.length],
    }))
    .filter(({ id }) => !hidden.has(id));
}

export function stackOf(shown: readonly Shown[], count: number): Bounds[] {
  const tops = new Array<number>(count).fill(0);
  return shown.map(({ values }) =>
    tops.map((low, index) => {
      const high = low + (values[index] ?? 0);
      tops[index] = high;
      return [low, high] as const;
    }),
  );
}

export function linePath(values: readonly (number | null)[], { centre, y }: Layout): string {
  const path = line<number | null>()
    .defined((value) => value !== null)
    .x((_, index) => centre(index))
    .y((value) => y(value ?? 0));
  return path(values) ?? "";
}

export function areaPath(bounds: Bounds, { centre, y }: Layout): string {
  const path = area<readonly [number, number]>()
    .x((_, index) => centre(index))
    .y0(([low]) => y(low))
    .y1(([, high]) => y(high));
  return path(bounds) ?? "";
}
