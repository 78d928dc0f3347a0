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

/** The chart's values as an accessible table. */
export function ChartTable({ label, x, series, format }: Props) {
  return (
    <details className="text-xs">
      <summary className="inline-flex min-h-6 items-center rounded-sm text-soft hover:text-ink">Show values</summary>
      <section
        aria-label={`Values: ${label}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll areas must be reachable by keyboard
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
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity
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
