import { type DecisionQuestion, optionText } from "./call.ts";
import type { RawAnswer } from "./reply.ts";

/** What a model may say to a question: short labels that are one token each, never the words of an option. */
export type Labels = {
  readonly names: readonly string[];
  /** The question as it is put, with its labels. */
  readonly text: string;
  /** Whether a token is a label written in another way. */
  readonly case: "any" | "exact";
};

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/** One digit for each level. */
export const LEVELS_MAX = 10;

export function labelsFor(question: DecisionQuestion): Labels {
  const asked = `Question: ${question.instructions}`;
  switch (question.type) {
    case "noul":
      return { names: ["yes", "no"], text: `${asked}\n\nAnswer with yes or no only.`, case: "any" };
    case "choice": {
      const names = question.options.map((_, place) => LETTERS[place] ?? "");
      const lines = question.options.map((option, place) => `${names[place]}: ${optionText(option)}`);
      const text = `${asked}\n\nOptions:\n${lines.join("\n")}\n\nAnswer with the letter of one option only.`;
      return { names, text, case: "exact" };
    }
    case "score": {
      const names = question.levels.map((_, level) => String(level));
      const lines = question.levels.map((level, place) => `${place}: ${level}`);
      const text = `${asked}\n\nLevels, lowest first:\n${lines.join("\n")}\n\nAnswer with the number of one level only.`;
      return { names, text, case: "exact" };
    }
  }
}

/** One token that the model might have said, and how likely that was. */
export type Alternative = {
  readonly token: string;
  readonly logprob: number;
  /** What the model happened to say, told beside the likeliest: it may be any, and there may be likelier ones untold. */
  readonly beside?: true;
};

/** Marks that tokenizers put before a word. */
const BEFORE_WORD = /^[\s\u2581\u0120\u010a]+/;
/** A label that is not among the alternatives is less likely than the last of them: then that one must be hardly so. */
const LAST_MAX = 1e-3;
const MISSED_MAX = 0.01;
/** Some servers write this for "not at all". */
const NEVER = -9999;

export type Masses = {
  /** In the order of the labels; they add up to one. */
  readonly shares: readonly number[];
  /** How much of everything the labels had. */
  readonly labelMass: number;
};

/** How the labels share what the model might have said first; a sentence where that cannot be read. */
export function massesOf(alternatives: readonly Alternative[], labels: Labels): Masses | string {
  const likely = alternatives.map(({ token, logprob, beside }) => ({
    token,
    p: logprob <= NEVER ? 0 : Math.exp(logprob),
    isRanked: beside === undefined && logprob > NEVER,
  }));
  if (likely.length === 0) return "there are no log-probabilities";
  if (likely.some(({ p }) => !(p <= 1 + LAST_MAX)) || sumOf(likely.map(({ p }) => p)) > 1 + MISSED_MAX)
    return "the log-probabilities are none";
  const masses = labels.names.map((name) =>
    sumOf(likely.filter(({ token }) => isLabel(token, name, labels)).map(({ p }) => p)),
  );
  const labelMass = Math.min(1, sumOf(masses));
  if (labelMass === 0) return "no label is among what the model might have said";
  const missing = labels.names.filter((name) => !likely.some(({ token }) => isLabel(token, name, labels))).length;
  // The last of the likeliest bounds what is not told; with none of them anything may be missing.
  const last = Math.min(1, ...likely.flatMap(({ p, isRanked }) => (isRanked ? [p] : [])));
  if (missing > 0 && (last >= LAST_MAX || missing * last > MISSED_MAX * labelMass))
    return "too few alternatives are told to know every label";
  const total = sumOf(masses);
  return { shares: masses.map((mass) => mass / total), labelMass };
}

function isLabel(token: string, name: string, { case: written }: Labels): boolean {
  const bare = token.replace(BEFORE_WORD, "").trimEnd();
  return written === "any" ? bare.toLowerCase() === name : bare === name;
}

const sumOf = (figures: readonly number[]) => figures.reduce((sum, figure) => sum + figure, 0);

/** The answer that follows from the shares of the labels. */
export function answerFrom(question: DecisionQuestion, { shares, labelMass }: Masses): RawAnswer {
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
