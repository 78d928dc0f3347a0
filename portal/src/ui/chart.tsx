import { scaleBand, scaleLinear, scaleUtc } from "d3-scale";
import { type KeyboardEvent, type PointerEvent, useId, useMemo, useState } from "react";
import { compactText } from "../format/number.ts";
import {
  areaPath,
  type ColouredSeries,
  type Layout,
  linePath,
  type Series,
  stackOf,
  visibleSeries,
} from "./chart-shapes.ts";
import { ChartTable } from "./chart-table.tsx";
import { cx } from "./class-names.ts";
import { EmptyState } from "./empty-state.tsx";
import { useWidth } from "./use-width.ts";

export type ChartProps = {
  /** The accessible name. */
  readonly label: string;
  readonly kind?: "line" | "area" | "bars" | undefined;
  /** Ascending times in milliseconds, or names. */
  readonly x: readonly number[] | readonly string[];
  readonly series: readonly Series[];
  /** Formats values: money, tokens, milliseconds. */
  readonly format?: ((value: number) => string) | undefined;
  /** Formats times and names. */
  readonly formatX?: ((x: number | string) => string) | undefined;
  readonly height?: number | undefined;
};

const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const NO_DATA = "No data in this period";

/** Lines, areas or stacked bars, with keyboard navigation and a table of values. */
export function Chart({ label, kind = "line", x, series, format = compactText, formatX, height = 220 }: ChartProps) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState<number | null>(null);
  const [ref, width] = useWidth();
  const shown = useMemo(() => visibleSeries(series, hidden), [series, hidden]);
  const labelX = formatX ?? ((value: number | string) => (typeof value === "number" ? DAY.format(value) : value));
  if (x.length === 0 || series.length === 0) return <EmptyState icon="chart" title={NO_DATA} />;
  const toggle = (id: string) =>
    setHidden(hidden.has(id) ? new Set([...hidden].filter((one) => one !== id)) : new Set([...hidden, id]));
  return (
    // Without minmax(0,1fr) the drawing would keep the column from shrinking.
    <figure className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-2">
      <div ref={ref} className="relative">
        {width > 0 && <Plot {...{ label, kind, x, format, labelX, height, width, at, setAt }} shown={shown} />}
        {at !== null && <Tooltip {...{ at, x, labelX, format, width }} shown={shown} />}
      </div>
      {series.length > 1 && <Legend series={series} hidden={hidden} toggle={toggle} />}
      <ChartTable label={label} x={x.map(labelX)} series={series} format={format} />
    </figure>
  );
}

type PlotProps = {
  readonly label: string;
  readonly kind: "line" | "area" | "bars";
  readonly x: readonly number[] | readonly string[];
  readonly shown: readonly ColouredSeries[];
  readonly format: (value: number) => string;
  readonly labelX: (x: number | string) => string;
  readonly height: number;
  readonly width: number;
  readonly at: number | null;
  readonly setAt: (at: number | null) => void;
};

const PAD = { top: 8, right: 8, bottom: 24 } as const;
const CHARACTER_WIDTH = 6.6;

function layoutOf({ kind, x, shown, format, width, height }: PlotProps): Layout {
  const isStacked = kind !== "line";
  const stack = stackOf(shown, x.length);
  const tops = isStacked
    ? (stack.at(-1)?.map(([, top]) => top) ?? [])
    : shown.flatMap((one) => one.values.map((value) => value ?? 0));
  const y = scaleLinear()
    .domain([0, Math.max(...tops, 0) || 1])
    .nice(4)
    .range([height - PAD.bottom, PAD.top]);
  const ticks = y.ticks(4);
  // Wide enough for the longest axis label.
  const left = Math.ceil(Math.max(...ticks.map((tick) => format(tick).length), 2) * CHARACTER_WIDTH) + 12;
  const range: [number, number] = [left, width - PAD.right];
  const times = x.filter((one) => typeof one === "number");
  const names = x.map(String);
  const band = scaleBand<string>()
    .domain(names)
    .range(range)
    .padding(kind === "bars" ? 0.25 : 0);
  const [first = 0, last = 1] = [times[0], times.at(-1)];
  const time = scaleUtc().domain([first, last]).range(range);
  const isBand = kind === "bars" || times.length < x.length || x.length < 2;
  const centre = (index: number) => {
    const value = x[index];
    return isBand || typeof value !== "number" ? (band(names[index] ?? "") ?? 0) + band.bandwidth() / 2 : time(value);
  };
  return {
    y: (value) => y(value),
    ticks,
    left,
    centre,
    bandWidth: Math.min(48, band.bandwidth()),
    stack,
    isStacked,
  };
}

function Plot(props: PlotProps) {
  const { label, kind, x, shown, format, labelX, height, width, at, setAt } = props;
  const layout = layoutOf(props);
  const hintId = useId();
  const near = (event: PointerEvent<SVGSVGElement>) => {
    const left = event.clientX - event.currentTarget.getBoundingClientRect().left;
    const distances = x.map((_, index) => Math.abs(layout.centre(index) - left));
    setAt(distances.indexOf(Math.min(...distances)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const now = at ?? -1;
    const next = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: x.length - 1 }[event.key];
    if (event.key === "Escape") setAt(null);
    if (next === undefined) return;
    event.preventDefault();
    setAt(Math.max(0, Math.min(x.length - 1, next)));
  };
  return (
    <>
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={label}
        aria-describedby={hintId}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: points are reached with the arrow keys
        tabIndex={0}
        onPointerMove={near}
        onPointerLeave={() => setAt(null)}
        onKeyDown={onKeyDown}
        onBlur={() => setAt(null)}
        className="block rounded-sm"
      >
        <Axes layout={layout} x={x} labelX={labelX} format={format} width={width} height={height} />
        {at !== null && (
          <line
            x1={layout.centre(at)}
            x2={layout.centre(at)}
            y1={PAD.top}
            y2={height - PAD.bottom}
            className="stroke-line-strong"
            strokeDasharray="3 3"
          />
        )}
        {shown.map((one, index) => (
          <Marks key={one.id} kind={kind} one={one} index={index} layout={layout} at={at} />
        ))}
      </svg>
      <span id={hintId} className="sr-only">
        Use the arrow keys to move between points. All values are in the table below.
      </span>
    </>
  );
}

type AxesProps = Pick<PlotProps, "x" | "labelX" | "format" | "width" | "height"> & { readonly layout: Layout };
const TICK_WIDTH = 72;

function Axes({ layout, x, labelX, format, width, height }: AxesProps) {
  const every = Math.max(1, Math.ceil((x.length * TICK_WIDTH) / Math.max(1, width - layout.left)));
  return (
    <g className="fill-faint text-2xs">
      {layout.ticks.map((tick) => (
        <g key={tick}>
          <line
            x1={layout.left}
            x2={width - PAD.right}
            y1={layout.y(tick)}
            y2={layout.y(tick)}
            className="stroke-line"
          />
          <text x={layout.left - 8} y={layout.y(tick)} dy="0.35em" textAnchor="end">
            {format(tick)}
          </text>
        </g>
      ))}
      {x.map((value, index) =>
        index % every === 0 ? (
          <text
            key={String(value)}
            x={layout.centre(index)}
            y={height - 6}
            textAnchor={anchorOf(layout.centre(index), layout.left, width)}
          >
            {labelX(value)}
          </text>
        ) : null,
      )}
    </g>
  );
}

/** Keeps labels at the edges inside the chart. */
function anchorOf(at: number, left: number, width: number): "start" | "middle" | "end" {
  if (at < left + 20) return "start";
  return at > width - PAD.right - 20 ? "end" : "middle";
}

type MarksProps = {
  readonly kind: PlotProps["kind"];
  readonly one: ColouredSeries;
  readonly index: number;
  readonly layout: Layout;
  readonly at: number | null;
};

function Marks({ kind, one, index, layout, at }: MarksProps) {
  const bounds = layout.stack[index] ?? [];
  if (kind === "bars")
    return bounds.map(([low, high], point) => (
      <rect
        // biome-ignore lint/suspicious/noArrayIndexKey: bars have no other identity
        key={point}
        x={layout.centre(point) - layout.bandWidth / 2}
        width={layout.bandWidth}
        y={layout.y(high)}
        height={Math.max(0, layout.y(low) - layout.y(high))}
        fill={one.colour}
        opacity={at === null || at === point ? 1 : 0.55}
      />
    ));
  const value = at === null ? undefined : layout.isStacked ? bounds[at]?.[1] : one.values[at];
  return (
    <>
      {kind === "area" && <path d={areaPath(bounds, layout)} fill={one.colour} opacity="0.22" />}
      <path
        d={
          kind === "area"
            ? linePath(
                bounds.map(([, high]) => high),
                layout,
              )
            : linePath(one.values, layout)
        }
        fill="none"
        stroke={one.colour}
        strokeWidth="1.75"
        strokeLinejoin="round"
        strokeDasharray={one.dash}
      />
      {at !== null && value !== undefined && value !== null && (
        <circle
          cx={layout.centre(at)}
          cy={layout.y(value)}
          r="3.5"
          fill={one.colour}
          className="stroke-card"
          strokeWidth="1.5"
        />
      )}
    </>
  );
}

type TooltipProps = {
  readonly at: number;
  readonly x: ChartProps["x"];
  readonly shown: readonly ColouredSeries[];
  readonly labelX: PlotProps["labelX"];
  readonly format: PlotProps["format"];
  readonly width: number;
};

/** The values at one point, announced on keyboard navigation. */
function Tooltip({ at, x, shown, labelX, format, width }: TooltipProps) {
  const isRight = x.length > 1 && at / (x.length - 1) > 0.5;
  const value = x[at];
  return (
    <div
      role="status"
      style={isRight ? { left: 8 } : { right: PAD.right + 8 }}
      className={cx(
        "pointer-events-none absolute top-2 z-10 grid gap-0.5 rounded-md border bg-raised px-3 py-2 text-xs shadow-pop",
        width < 420 && "max-w-48",
      )}
    >
      <p className="font-semibold">{value === undefined ? "" : labelX(value)}</p>
      {shown.map((one) => {
        const figure = one.values[at];
        return (
          <p key={one.id} className="flex items-center gap-2">
            <span aria-hidden="true" className="size-2 shrink-0 rounded-[2px]" style={{ background: one.colour }} />
            <span className="min-w-0 flex-1 truncate text-soft">{one.label}</span>
            <span className="figures font-medium">
              {figure === null || figure === undefined ? "–" : format(figure)}
            </span>
          </p>
        );
      })}
    </div>
  );
}

function Legend({
  series,
  hidden,
  toggle,
}: {
  readonly series: readonly Series[];
  readonly hidden: ReadonlySet<string>;
  readonly toggle: (id: string) => void;
}) {
  const all = visibleSeries(series, new Set());
  return (
    <ul className="flex flex-wrap gap-x-1 gap-y-0.5">
      {all.map((one) => (
        <li key={one.id} className="min-w-0">
          <button
            type="button"
            aria-pressed={!hidden.has(one.id)}
            title={one.label}
            onClick={() => toggle(one.id)}
            className={cx(
              "flex h-6 max-w-60 items-center gap-1.5 rounded-sm px-1.5 text-xs hover:bg-hover",
              hidden.has(one.id) && "text-faint line-through",
            )}
          >
            <span
              aria-hidden="true"
              className="size-2.5 shrink-0 rounded-[2px]"
              style={hidden.has(one.id) ? { boxShadow: `inset 0 0 0 1.5px ${one.colour}` } : { background: one.colour }}
            />
            <span className="truncate">{one.label}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
