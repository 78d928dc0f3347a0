import { area, line } from "d3-shape";

export type Series = {
  readonly id: string;
  readonly label: string;
  /** One value per `x`; null: gap in the line. */
  readonly values: readonly (number | null)[];
};

/** A series with its colour; beyond eight colours lines are dashed. */
export type ColouredSeries = Series & { readonly colour: string; readonly dash: string | undefined };

export type Bounds = readonly (readonly [low: number, high: number])[];

export type Layout = {
  readonly y: (value: number) => number;
  readonly ticks: readonly number[];
  /** The x position of the y axis. */
  readonly left: number;
  readonly centre: (index: number) => number;
  readonly bandWidth: number;
  /** Lower and upper bounds per series and point. */
  readonly stack: readonly Bounds[];
  readonly isStacked: boolean;
};

const COLOURS = 8;
const DASHES = [undefined, "6 3", "2 3"] as const;

/** A series keeps its colour when others are hidden. */
export function visibleSeries(series: readonly Series[], hidden: ReadonlySet<string>): ColouredSeries[] {
  return series
    .map((one, index) => ({
      ...one,
      colour: `var(--color-c${(index % COLOURS) + 1})`,
      dash: DASHES[Math.floor(index / COLOURS) % DASHES.length],
    }))
    .filter(({ id }) => !hidden.has(id));
}

export function stackOf(shown: readonly ColouredSeries[], count: number): Bounds[] {
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
