import { valueAt } from "./model-reply.ts";

const SHOWN_VALUES = 6;
const COMPARED_MAX = 8;

/** Dimensions, first values and pairwise similarity of embeddings. */
export function Vectors({ body }: { readonly body: unknown }) {
  const data = valueAt(body, "data");
  const rows = Array.isArray(data) ? data.map((row) => numbersOf(valueAt(row, "embedding"))) : [];
  const compared = rows.slice(0, COMPARED_MAX);
  return (
    <div className="grid gap-4">
      <ul className="grid gap-2">
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: vectors are in the order of the texts
          <li key={index} className="rounded-md border px-3 py-2">
            <span className="font-medium">Text {index + 1}</span>{" "}
            <span className="text-soft">{row.length} dimensions</span>
            <code className="mt-1 block font-mono text-xs break-all text-soft">
              [
              {row
                .slice(0, SHOWN_VALUES)
                .map((value) => value.toFixed(4))
                .join(", ")}
              , …]
            </code>
          </li>
        ))}
      </ul>
      {compared.length > 1 && (
        <div className="overflow-x-auto">
          <table className="text-xs">
            <caption className="pb-1 text-left text-soft">Cosine similarity</caption>
            <thead>
              <tr>
                <td />
                {compared.map((_, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: as above
                  <th key={column} scope="col" className="px-2 py-1 font-medium">
                    {column + 1}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {compared.map((row, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above
                <tr key={index}>
                  <th scope="row" className="px-2 py-1 text-left font-medium">
                    {index + 1}
                  </th>
                  {compared.map((other, column) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: as above
                    <td key={column} className="figures border px-2 py-1 text-right">
                      {cosine(row, other).toFixed(3)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function numbersOf(value: unknown): number[] {
  return Array.isArray(value) ? value.map(Number) : [];
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, index) => sum + value * (y[index] ?? 0), 0);
  return dot(a, b) / (Math.sqrt(dot(a, a) * dot(b, b)) || 1);
}
