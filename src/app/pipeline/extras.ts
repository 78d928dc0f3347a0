import { isExtraPriced } from "../../domain/catalogue/catalogue.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { BillableExtra } from "../../language/canon/extras.ts";

/** What an attempt is really sent of what is billed apart: what was only offered and has no price stays here. */
export function billedExtras(extras: readonly BillableExtra[], attempt: Attempt): readonly BillableExtra[] {
  return extras.filter((extra) => extra.toolIndex === undefined || isExtraPriced(attempt.price, extra.name));
}

/** Places in `tools` of what an attempt is not sent. With the workspace's own key nothing is charged, so all is sent. */
export function omittedToolIndexes(
  extras: readonly BillableExtra[] | undefined,
  attempt: Attempt,
): readonly number[] | undefined {
  if (extras === undefined || attempt.ownKey !== undefined) return undefined;
  const places = extras.flatMap(({ toolIndex, name }) =>
    toolIndex === undefined || isExtraPriced(attempt.price, name) ? [] : [toolIndex],
  );
  return places.length === 0 ? undefined : places;
}

/**
 * What was used, as it is priced: what multiplies is in force because it was asked for, the rest is what the provider
 * reports. Undefined where the row has no such prices.
 */
export function extrasUsed(
  extras: readonly BillableExtra[],
  { price }: Attempt,
  uses: Readonly<Record<string, number>> | undefined,
): Record<string, number> | undefined {
  if (price.extras === undefined) return undefined;
  const used: Record<string, number> = {};
  for (const { name } of extras) {
    const row = price.extras[name];
    if (row === undefined) continue;
    used[name] = row.times === null ? (uses?.[name] ?? 0) : 1;
  }
  return used;
}
