/** How sure a distribution is: 0 when every option is as likely as the next, 1 when one has it all. */
export function choiceConfidence(probabilities: readonly number[]): number {
  const even = 1 / probabilities.length;
  if (probabilities.length < 2) return 1;
  return clampToUnit((Math.max(...probabilities) - even) / (1 - even));
}

/** For ordered levels what counts is how far from the likeliest one the rest lies. */
export function scoreConfidence(probabilities: readonly number[]): number {
  const { length } = probabilities;
  if (length < 2) return 1;
  const mode = probabilities.indexOf(Math.max(...probabilities));
  const spread = probabilities.reduce((sum, p, level) => sum + p * Math.abs(level - mode), 0);
  const middle = (length - 1) / 2;
  const evenSpread = probabilities.reduce((sum, _p, level) => sum + Math.abs(level - middle), 0) / length;
  return clampToUnit(1 - spread / evenSpread);
}

const clampToUnit = (value: number) => Math.min(1, Math.max(0, value));
