import { type DecisionQuestion, optionText } from "./call.ts";
import type { RawAnswer } from "./reply.ts";

/** The permitted answers to a question: single-token labels instead of option texts. */
export type QuestionLabels = {
  readonly names: readonly string[];
  /** The question with its labels. */
  readonly prompt: string;
  /** How tokens are matched against labels. */
  readonly caseRule: "any" | "exact";
};

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/** One digit per level. */
export const LABELLED_LEVELS_MAX = 10;

export function labelsFor(question: DecisionQuestion): QuestionLabels {
  const heading = `Question: ${question.instructions}`;
  switch (question.type) {
    case "noul":
      return { names: ["yes", "no"], prompt: `${heading}\n\nAnswer with yes or no only.`, caseRule: "any" };
    case "choice": {
      const names = question.options.map((_, index) => LETTERS[index] ?? "");
      const lines = question.options.map((option, index) => `${names[index]}: ${optionText(option)}`);
      const prompt = `${heading}\n\nOptions:\n${lines.join("\n")}\n\nAnswer with the letter of one option only.`;
      return { names, prompt, caseRule: "exact" };
    }
    case "score": {
      const names = question.levels.map((_, level) => String(level));
      const lines = question.levels.map((level, index) => `${index}: ${level}`);
      const prompt = `${heading}\n\nLevels, lowest first:\n${lines.join("\n")}\n\nAnswer with the number of one level only.`;
      return { names, prompt, caseRule: "exact" };
    }
  }
}

/** A candidate for the first token, with its log-probability. */
export type TokenAlternative = {
  readonly token: string;
  readonly logprob: number;
  /** The sampled token, reported beside the top list: likelier tokens may be missing. */
  readonly isSampledOnly?: true;
};

/** Word-start markers of tokenizers. */
const TOKENIZER_PREFIX = /^[\s\u2581\u0120\u010a]+/;
/** A label missing from the top list is less candidates than its last entry, so that entry must be small. */
const UNLISTED_PROBABILITY_MAX = 1e-3;
const MISSING_MASS_MAX = 0.01;
/** Some servers use this value for probability zero. */
const LOGPROB_NEVER = -9999;

export type LabelDistribution = {
  /** In label order; sums to one. */
  readonly shares: readonly number[];
  /** Probability mass of all labels together. */
  readonly labelMass: number;
};

/** Distribution over the labels for the first token; a string explains why it cannot be read. */
export function labelDistributionOf(
  alternatives: readonly TokenAlternative[],
  labels: QuestionLabels,
): LabelDistribution | string {
  const candidates = alternatives.map(({ token, logprob, isSampledOnly }) => ({
    token,
    p: logprob <= LOGPROB_NEVER ? 0 : Math.exp(logprob),
    isRanked: isSampledOnly === undefined && logprob > LOGPROB_NEVER,
  }));
  if (candidates.length === 0) return "the response has no log-probabilities";
  if (
    candidates.some(({ p }) => !(p <= 1 + UNLISTED_PROBABILITY_MAX)) ||
    sumOf(candidates.map(({ p }) => p)) > 1 + MISSING_MASS_MAX
  )
    return "the log-probabilities are invalid";
  const labelMasses = labels.names.map((name) =>
    sumOf(candidates.filter(({ token }) => isLabel(token, name, labels)).map(({ p }) => p)),
  );
  const labelMass = Math.min(1, sumOf(labelMasses));
  if (labelMass === 0) return "the alternatives contain none of the labels";
  const missing = labels.names.filter((name) => !candidates.some(({ token }) => isLabel(token, name, labels))).length;
  // The last top entry bounds unreported tokens; without one, any label may be missing.
  const last = Math.min(1, ...candidates.flatMap(({ p, isRanked }) => (isRanked ? [p] : [])));
  if (missing > 0 && (last >= UNLISTED_PROBABILITY_MAX || missing * last > MISSING_MASS_MAX * labelMass))
    return "too few alternatives to cover every label";
  const total = sumOf(labelMasses);
  return { shares: labelMasses.map((mass) => mass / total), labelMass };
}

function isLabel(token: string, name: string, { caseRule }: QuestionLabels): boolean {
  const word = token.replace(TOKENIZER_PREFIX, "").trimEnd();
  return caseRule === "any" ? word.toLowerCase() === name : word === name;
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

export function answerFromLabels(question: DecisionQuestion, { shares, labelMass }: LabelDistribution): RawAnswer {
  switch (question.type) {
    case "noul":
      return { type: "noul", value: shares[0], labelMass };
    case "choice": {
      const names = question.options.map(({ name }) => name);
      const probabilities = new Map(names.map((name, index) => [name, shares[index]]));
      return { type: "choice", value: names[shares.indexOf(Math.max(...shares))], probabilities, labelMass };
    }
    case "score": {
      const value = shares.reduce((sum, share, level) => sum + share * level, 0);
      const probabilities = new Map(shares.map((share, level) => [String(level), share]));
      return { type: "score", value, probabilities, labelMass };
    }
  }
}
