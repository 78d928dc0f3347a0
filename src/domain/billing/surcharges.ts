import type { UsageRecord } from "../record/record.ts";
import type { Tariff } from "./tariff.ts";

/** The most uses of each surcharge that a request may be billed for. */
export function maximumUses(
  tariff: Tariff,
  requested: readonly { readonly name: string; readonly usesMax?: number }[],
  limit: number,
): Record<string, number> {
  const uses: Record<string, number> = {};
  for (const { name, usesMax } of requested) {
    const maximum = usesMax ?? tariff.extras?.get(name)?.usesMax ?? 0;
    // A multiplier applies from the first use.
    uses[name] = (uses[name] ?? 0) + Math.min(Math.max(1, maximum), limit);
  }
  return uses;
}

/** The price of all uses, and the factor for the token cost. A surcharge without a price is free. */
export function surchargesFor(rates: NonNullable<Tariff["extras"]>, used: NonNullable<UsageRecord["extras"]>) {
  let uses = 0n;
  let numerator = 1n;
  let denominator = 1n;
  for (const [name, times] of Object.entries(used)) {
    const rate = rates.get(name);
    if (rate === undefined || times === 0) continue;
    uses += BigInt(times) * rate.perUse;
    numerator *= rate.numerator;
    denominator *= rate.denominator;
  }
  return { uses, numerator, denominator };
}
