import type { UnusableReply } from "../canon/reply.ts";
import type { DecisionQuestion } from "./call.ts";
import { choiceConfidence, scoreConfidence } from "./confidence.ts";
import type { DecisionAnswer, RawAnswer, RawDecisionReply } from "./reply.ts";

/** Below this label mass the distribution over labels is meaningless. */
const LABEL_MASS_MIN = 0.5;

/** Tolerances for providers that round probabilities. */
type RoundingTolerance = {
  sum(count: number): number;
  readonly choice: number;
  score(levels: number): number;
};

/** Floating-point error. */
const EPSILON = 1e-6;
const UNKNOWN_SUM_TOLERANCE = 0.02;
const ASSUMED_DECIMALS = 2;

function toleranceFor(decimals: number | null): RoundingTolerance {
  const half = 0.5 * 10 ** -(decimals ?? ASSUMED_DECIMALS);
  return {
    sum: (count) => EPSILON + (decimals === null ? UNKNOWN_SUM_TOLERANCE : count * half),
    choice: EPSILON + 2 * half,
    score: (levels) => EPSILON + half * ((levels * (levels - 1)) / 2 + 1),
  };
}

/** By the caller's keys, in question order. */
export type DecisionAnswers = ReadonlyMap<string, DecisionAnswer>;

/**
 * Accepts a reply only if every question is answered with the requested type and consistent numbers; nothing is
 * repaired. Problems name questions by number, because the log must not contain request content.
 */
export function validateReply(
  reply: Pick<RawDecisionReply, "answers" | "isTruncated">,
  questions: readonly DecisionQuestion[],
  decimals: number | null,
  firstNumber = 1,
): DecisionAnswers | UnusableReply {
  if (reply.isTruncated) return { unusable: "the provider did not read the whole state" };
  const answersById = new Map(reply.answers);
  if (answersById.size !== reply.answers.length) return { unusable: "a question is answered twice" };
  const checked = new Map<string, DecisionAnswer>();
  const tolerance = toleranceFor(decimals);
  for (const [at, question] of questions.entries()) {
    const raw = answersById.get(question.id);
    if (raw === undefined) return unusableQuestion(firstNumber + at, "the response has no answer");
    const answer = validateAnswer(raw, question, tolerance);
    if ("unusable" in answer) return unusableQuestion(firstNumber + at, answer.unusable);
    checked.set(question.key, answer);
  }
  if (answersById.size !== questions.length) return { unusable: "the response has an answer without a question" };
  return checked;
}

export function unusableQuestion(number: number, problem: string): UnusableReply {
  return { unusable: `question ${number}: ${problem}` };
}

function validateAnswer(
  raw: RawAnswer,
  question: DecisionQuestion,
  tolerance: RoundingTolerance,
): DecisionAnswer | UnusableReply {
  if (raw.type === "refusal") return { type: "refusal" };
  if (raw.type !== question.type) return { unusable: `the answer is not of the type ${question.type}` };
  if (raw.labelMass !== undefined && !(isProbability(raw.labelMass) && raw.labelMass >= LABEL_MASS_MIN))
    return { unusable: "the model gave the labels too little probability" };
  if (raw.argmaxIsLabel === false) return { unusable: "the model's most likely reply is not a label" };
  switch (question.type) {
    case "noul":
      return validateNoul(raw, tolerance);
    case "choice":
      return validateChoice(
        raw,
        question.options.map(({ name }) => name),
        tolerance,
      );
    case "score":
      return validateScore(raw, question.levels.length, tolerance);
  }
}

function validateNoul(
  { value, probabilities }: RawAnswer,
  tolerance: RoundingTolerance,
): DecisionAnswer | UnusableReply {
  if (!isProbability(value)) return { unusable: "the answer is not a probability" };
  const both = probabilities === undefined ? [] : validateDistribution(probabilities, ["yes", "no"], tolerance);
  return "unusable" in both ? both : { type: "noul", noul: value };
}

function validateChoice(
  raw: RawAnswer,
  names: readonly string[],
  tolerance: RoundingTolerance,
): DecisionAnswer | UnusableReply {
  const { value: choice } = raw;
  if (typeof choice !== "string" || !names.includes(choice))
    return { unusable: "the choice is not one of the options" };
  const distribution =
    raw.probabilities === undefined ? undefined : validateDistribution(raw.probabilities, names, tolerance);
  if (distribution !== undefined && "unusable" in distribution) return distribution;
  if (distribution !== undefined) {
    const chosen = distribution[names.indexOf(choice)] ?? 0;
    if (chosen < Math.max(...distribution) - tolerance.choice)
      return { unusable: "another option has a higher probability than the choice" };
  }
  const confidence = resolveConfidence(raw, distribution === undefined ? undefined : choiceConfidence(distribution));
  if (typeof confidence !== "number") return confidence;
  const probabilities =
    distribution === undefined ? undefined : new Map(names.map((name, index) => [name, distribution[index] ?? 0]));
  return { type: "choice", choice, confidence, probabilities };
}

function validateScore(raw: RawAnswer, levels: number, tolerance: RoundingTolerance): DecisionAnswer | UnusableReply {
  const { value: score, probabilities, providerFields } = raw;
  if (typeof score !== "number" || !(score >= 0 && score <= levels - 1))
    return { unusable: "the score is not between the lowest and the highest level" };
  if (probabilities === undefined) return { unusable: "there are no probabilities for the levels" };
  const names = Array.from({ length: levels }, (_, level) => String(level));
  const distribution = validateDistribution(probabilities, names, tolerance);
  if ("unusable" in distribution) return distribution;
  const weighted = distribution.reduce((sum, p, level) => sum + p * level, 0);
  if (Math.abs(score - weighted) > tolerance.score(levels))
    return { unusable: "the score does not match its probabilities" };
  const confidence = resolveConfidence(raw, scoreConfidence(distribution));
  if (typeof confidence !== "number") return confidence;
  return { type: "score", score, confidence, probabilities: distribution, providerFields };
}

/** The provider's confidence, or else one computed from the distribution. */
function resolveConfidence({ confidence }: RawAnswer, computed: number | undefined): number | UnusableReply {
  if (confidence === undefined || confidence === null)
    return computed ?? { unusable: "there is no confidence and no distribution to compute it from" };
  return isProbability(confidence) ? confidence : { unusable: "the confidence is not between 0 and 1" };
}

/** Requires exactly one probability per name, summing to one; returns them in the order of `names`. */
function validateDistribution(
  reported: ReadonlyMap<string, unknown>,
  names: readonly string[],
  tolerance: RoundingTolerance,
): readonly number[] | UnusableReply {
  if (reported.size !== names.length) return { unusable: "the probabilities do not match the options" };
  const distribution: number[] = [];
  for (const name of names) {
    if (!reported.has(name)) return { unusable: "the probabilities do not match the options" };
    const probability = reported.get(name);
    if (!isProbability(probability)) return { unusable: "a probability is not between 0 and 1" };
    distribution.push(probability);
  }
  const sum = distribution.reduce((total, probability) => total + probability, 0);
  return Math.abs(sum - 1) > tolerance.sum(names.length)
    ? { unusable: "the probabilities do not sum to 1" }
    : distribution;
}

function isProbability(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 1;
}
