/** Normalised so that a uniform distribution gives 0 and a certain one gives 1. */
export function choiceConfidence(probabilities: readonly number[]): number {
  const uniform = 1 / probabilities.length;
  if (probabilities.length < 2) return 1;
  return clampToUnit((Math.max(...probabilities) - uniform) / (1 - uniform));
}

/** For ordered levels: the expected distance from the mode, relative to that of a uniform distribution. */
export function scoreConfidence(probabilities: readonly number[]): number {
  const { length } = probabilities;
  if (length < 2) return 1;
  const mode = probabilities.indexOf(Math.max(...probabilities));
  const spread = probabilities.reduce((sum, p, level) => sum + p * Math.abs(level - mode), 0);
  const middle = (length - 1) / 2;
  const uniformSpread = probabilities.reduce((sum, _p, level) => sum + Math.abs(level - middle), 0) / length;
  return clampToUnit(1 - spread / uniformSpread);
}

const clampToUnit = (value: number) => Math.min(1, Math.max(0, value));
