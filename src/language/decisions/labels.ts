import { type DecisionQuestion, optionText } from "./call.ts";
import type { RawAnswer } from "./reply.ts";

/** What a model may say to a question: short labels that are one token each, never the words of an option. */
export type QuestionLabels = {
  readonly names: readonly string[];
  /** The question as it is put, with its labels. */
  readonly prompt: string;
  /** Whether a token is a label written in another way. */
  readonly caseRule: "any" | "exact";
};

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/** One digit for each level. */
export const LABELLED_LEVELS_MAX = 10;

export function labelsFor(question: DecisionQuestion): QuestionLabels {
  const asked = `Question: ${question.instructions}`;
  switch (question.type) {
    case "noul":
      return { names: ["yes", "no"], prompt: `${asked}\n\nAnswer with yes or no only.`, caseRule: "any" };
    case "choice": {
      const names = question.options.map((_, place) => LETTERS[place] ?? "");
      const lines = question.options.map((option, place) => `${names[place]}: ${optionText(option)}`);
      const text = `${asked}\n\nOptions:\n${lines.join("\n")}\n\nAnswer with the letter of one option only.`;
      return { names, prompt: text, caseRule: "exact" };
    }
    case "score": {
      const names = question.levels.map((_, level) => String(level));
      const lines = question.levels.map((level, place) => `${place}: ${level}`);
      const text = `${asked}\n\nLevels, lowest first:\n${lines.join("\n")}\n\nAnswer with the number of one level only.`;
      return { names, prompt: text, caseRule: "exact" };
    }
  }
}

/** One token that the model might have said, and how likely that was. */
export type TokenAlternative = {
  readonly token: string;
  readonly logprob: number;
  /** What the model happened to say, told beside the likeliest: it may be any, and there may be likelier ones untold. */
  readonly isSampledOnly?: true;
};

/** Marks that tokenizers put before a word. */
const TOKENIZER_PREFIX = /^[\s\u2581\u0120\u010a]+/;
/** A label that is not among the alternatives is less likely than the last of them: then that one must be hardly so. */
const UNLISTED_PROBABILITY_MAX = 1e-3;
const MISSING_MASS_MAX = 0.01;
/** Some servers write this for "not at all". */
const LOGPROB_NEVER = -9999;

export type LabelDistribution = {
  /** In the order of the labels; they add up to one. */
  readonly shares: readonly number[];
  /** How much of everything the labels had. */
  readonly labelMass: number;
};

/** How the labels share what the model might have said first; a sentence where that cannot be read. */
export function labelDistributionOf(
  alternatives: readonly TokenAlternative[],
  labels: QuestionLabels,
): LabelDistribution | string {
  const likely = alternatives.map(({ token, logprob, isSampledOnly }) => ({
    token,
    p: logprob <= LOGPROB_NEVER ? 0 : Math.exp(logprob),
    isRanked: isSampledOnly === undefined && logprob > LOGPROB_NEVER,
  }));
  if (likely.length === 0) return "there are no log-probabilities";
  if (
    likely.some(({ p }) => !(p <= 1 + UNLISTED_PROBABILITY_MAX)) ||
    sumOf(likely.map(({ p }) => p)) > 1 + MISSING_MASS_MAX
  )
    return "the log-probabilities are none";
  const masses = labels.names.map((name) =>
    sumOf(likely.filter(({ token }) => isLabel(token, name, labels)).map(({ p }) => p)),
  );
  const labelMass = Math.min(1, sumOf(masses));
  if (labelMass === 0) return "no label is among what the model might have said";
  const missing = labels.names.filter((name) => !likely.some(({ token }) => isLabel(token, name, labels))).length;
  // The last of the likeliest bounds what is not told; with none of them anything may be missing.
  const last = Math.min(1, ...likely.flatMap(({ p, isRanked }) => (isRanked ? [p] : [])));
  if (missing > 0 && (last >= UNLISTED_PROBABILITY_MAX || missing * last > MISSING_MASS_MAX * labelMass))
    return "too few alternatives are told to know every label";
  const total = sumOf(masses);
  return { shares: masses.map((mass) => mass / total), labelMass };
}

function isLabel(token: string, name: string, { caseRule: written }: QuestionLabels): boolean {
  const bare = token.replace(TOKENIZER_PREFIX, "").trimEnd();
  return written === "any" ? bare.toLowerCase() === name : bare === name;
}

const sumOf = (figures: readonly number[]) => figures.reduce((sum, figure) => sum + figure, 0);

/** The answer that follows from the shares of the labels. */
export function answerFromLabels(question: DecisionQuestion, { shares, labelMass }: LabelDistribution): RawAnswer {
  switch (question.type) {
    case "noul":
      return { type: "noul", value: shares[0], labelMass };
    case "choice": {
      const names = question.options.map(({ name }) => name);
      const probabilities = new Map(names.map((name, place) => [name, shares[place]]));
      return { type: "choice", value: names[shares.indexOf(Math.max(...shares))], probabilities, labelMass };
    }
    case "score": {
      const value = shares.reduce((sum, share, level) => sum + share * level, 0);
      const probabilities = new Map(shares.map((share, level) => [String(level), share]));
      return { type: "score", value, probabilities, labelMass };
    }
  }
}
