/** A metric over the repetitions of a run. */
export type Figure = { readonly median: number; readonly least: number; readonly most: number };

/** The quantile of unsorted samples. */
export function percentile(samples: readonly number[], share: number): number | undefined {
  if (samples.length === 0) return undefined;
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

export function median(samples: readonly number[]): number | undefined {
  if (samples.length === 0) return undefined;
  const sorted = samples.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1];
  const lower = sorted[(sorted.length - 1) >> 1];
  return upper === undefined || lower === undefined ? undefined : (upper + lower) / 2;
}

export function figure(samples: readonly number[]): Figure | undefined {
  const middle = median(samples);
  return middle === undefined ? undefined : { median: middle, least: Math.min(...samples), most: Math.max(...samples) };
}

/**
 * Ratio of two candidates per repetition: both sides of each ratio are measured within seconds, so a machine that slows
 * down during the run favours neither.
 */
export function ratio(
  over: readonly (number | undefined)[],
  under: readonly (number | undefined)[],
): Figure | undefined {
  const ratios: number[] = [];
  for (const [repetition, top] of over.entries()) {
    const bottom = under[repetition];
    if (top !== undefined && bottom !== undefined && bottom > 0) ratios.push(top / bottom);
  }
  return figure(ratios);
}

/** Latency added to the direct call, per repetition. */
export function added(
  through: readonly (number | undefined)[],
  direct: readonly (number | undefined)[],
): Figure | undefined {
  const differences: number[] = [];
  for (const [repetition, value] of through.entries()) {
    const base = direct[repetition];
    if (value !== undefined && base !== undefined) differences.push(value - base);
  }
  return figure(differences);
}
