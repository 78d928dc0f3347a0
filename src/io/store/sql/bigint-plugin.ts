import type { KyselyPlugin, QueryResult, UnknownRow } from "kysely";

/**
 * Engines hand every 64-bit number over as `bigint`, because a balance may be larger than a `number` can say. Here
 * each becomes what the schema promises: money (`…_nanos`) stays `bigint`, everything else is a `number`.
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
  if (!Number.isSafeInteger(number)) throw new RangeError(`column ${name} holds ${value}, more than a number can say`);
  return number;
}
