import type { KyselyPlugin, QueryResult, UnknownRow } from "kysely";

/**
 * Engines return every 64-bit integer as `bigint`, because a balance may exceed a safe `number`. Money (`…_nanos`) stays
 * `bigint`; every other column is converted to `number`, as the schema declares.
 */
export const bigintPlugin: KyselyPlugin = {
  transformQuery: ({ node }) => node,
  transformResult: async ({ result }): Promise<QueryResult<UnknownRow>> => {
    for (const row of result.rows)
      for (const [name, value] of Object.entries(row))
        if (typeof value === "bigint" && !name.endsWith("_nanos")) row[name] = toNumber(name, value);
    return result;
  },
};

function toNumber(name: string, value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw new RangeError(`column ${name} holds ${value}, which exceeds the safe integer range`);
  return number;
}
