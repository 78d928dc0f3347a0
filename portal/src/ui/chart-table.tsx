type Props = {
  readonly label: string;
  readonly x: readonly string[];
  readonly series: readonly {
    readonly id: string;
    readonly label: string;
    readonly values: readonly (number | null)[];
  }[];
  readonly format: (value: number) => string;
};

/** The figures of a chart for whoever does not see it, or wants them exactly. */
export function ChartTable({ label, x, series, format }: Props) {
  return (
    <details className="text-xs">
      <summary className="inline-flex min-h-6 items-center rounded-sm text-soft hover:text-ink">
        Show the figures
      </summary>
      <section
        aria-label={`Figures: ${label}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
        tabIndex={0}
        className="mt-2 max-h-72 overflow-auto rounded-md border"
      >
        <table className="w-full text-left">
          <caption className="sr-only">{label}</caption>
          <thead>
            <tr className="border-b bg-sunken/60 text-soft">
              <td className="px-3 py-1.5" />
              {series.map((one) => (
                <th key={one.id} scope="col" className="px-3 py-1.5 text-right font-semibold">
                  {one.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {x.map((name, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place on the axis
              <tr key={index} className="border-b last:border-0">
                <th scope="row" className="px-3 py-1 font-normal whitespace-nowrap">
                  {name}
                </th>
                {series.map((one) => {
                  const value = one.values[index];
                  return (
                    <td key={one.id} className="figures px-3 py-1 text-right">
                      {value === null || value === undefined ? "–" : format(value)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
