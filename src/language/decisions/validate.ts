import type { UnusableReply } from "../canon/reply.ts";
import type { DecisionQuestion } from "./call.ts";
import { choiceConfidence, scoreConfidence } from "./confidence.ts";
import type { DecisionAnswer, RawAnswer, RawDecisionReply } from "./reply.ts";

/** Below this share of the model's mind its labels say nothing. */
const LABEL_MASS_MIN = 0.5;

/** How far rounding may carry figures from what they must add up to. */
type RoundingTolerance = {
  sum(count: number): number;
  readonly choice: number;
  score(levels: number): number;
};

/** Arithmetic on binary fractions is off by less than this. */
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

/** By the caller's keys, in the order of the questions. */
export type DecisionAnswers = ReadonlyMap<string, DecisionAnswer>;

/**
 * All questions answered in the type asked with figures that hold together, or nothing. What is wrong is said without
 * content, and nothing is ever repaired. It goes into the log, which keeps no names of questions: they go by their place.
 */
export function validateReply(
  reply: Pick<RawDecisionReply, "answers" | "truncated">,
  questions: readonly DecisionQuestion[],
  decimals: number | null,
  firstNumber = 1,
): DecisionAnswers | UnusableReply {
  if (reply.isTruncated) return { unusable: "the provider did not read all of the state" };
  const byId = new Map(reply.answers);
  if (byId.size !== reply.answers.length) return { unusable: "a question is answered twice" };
  const checked = new Map<string, DecisionAnswer>();
  const slack = toleranceFor(decimals);
  for (const [at, question] of questions.entries()) {
    const raw = byId.get(question.id);
    if (raw === undefined) return unusableQuestion(firstNumber + at, "there is no answer");
    const answer = validateAnswer(raw, question, slack);
    if ("unusable" in answer) return unusableQuestion(firstNumber + at, answer.unusable);
    checked.set(question.key, answer);
  }
  if (byId.size !== questions.length) return { unusable: "there is an answer that nobody asked for" };
  return checked;
}

export function unusableQuestion(number: number, problem: string): UnusableReply {
  return { unusable: `question ${number}: ${problem}` };
}

function validateAnswer(
  raw: RawAnswer,
  question: DecisionQuestion,
  slack: RoundingTolerance,
): DecisionAnswer | UnusableReply {
  if (raw.type === "refusal") return { type: "refusal" };
  if (raw.type !== question.type) return { unusable: `the answer is not of the type ${question.type}` };
  if (raw.labelMass !== undefined && !(isProbability(raw.labelMass) && raw.labelMass >= LABEL_MASS_MIN))
    return { unusable: "the model had hardly a mind for the labels" };
  if (raw.argmaxIsLabel === false) return { unusable: "the model wanted to say something else" };
  switch (question.type) {
    case "noul":
      return validateNoul(raw, slack);
    case "choice":
      return validateChoice(
        raw,
        question.options.map(({ name }) => name),
        slack,
      );
    case "score":
      return validateScore(raw, question.levels.length, slack);
  }
}

function validateNoul({ value, probabilities }: RawAnswer, slack: RoundingTolerance): DecisionAnswer | UnusableReply {
  if (!isProbability(value)) return { unusable: "the answer is no probability" };
  const both = probabilities === undefined ? [] : validateDistribution(probabilities, ["yes", "no"], slack);
  return "unusable" in both ? both : { type: "noul", noul: value };
}

function validateChoice(
  raw: RawAnswer,
  names: readonly string[],
  slack: RoundingTolerance,
): DecisionAnswer | UnusableReply {
  const { value: choice } = raw;
  if (typeof choice !== "string" || !names.includes(choice)) return { unusable: "the choice is none of the options" };
  const figures = raw.probabilities === undefined ? undefined : validateDistribution(raw.probabilities, names, slack);
  if (figures !== undefined && "unusable" in figures) return figures;
  if (figures !== undefined) {
    const chosen = figures[names.indexOf(choice)] ?? 0;
    if (chosen < Math.max(...figures) - slack.choice) return { unusable: "another option is likelier than the choice" };
  }
  const confidence = resolveConfidence(raw, figures === undefined ? undefined : choiceConfidence(figures));
  if (typeof confidence !== "number") return confidence;
  const probabilities =
    figures === undefined ? undefined : new Map(names.map((name, place) => [name, figures[place] ?? 0]));
  return { type: "choice", choice, confidence, probabilities };
}

function validateScore(raw: RawAnswer, levels: number, slack: RoundingTolerance): DecisionAnswer | UnusableReply {
  const { value: score, probabilities, providerFields } = raw;
  if (typeof score !== "number" || !(score >= 0 && score <= levels - 1))
    return { unusable: "the score is not between the lowest and the highest level" };
  if (probabilities === undefined) return { unusable: "there are no probabilities of the levels" };
  const names = Array.from({ length: levels }, (_, level) => String(level));
  const figures = validateDistribution(probabilities, names, slack);
  if ("unusable" in figures) return figures;
  const weighted = figures.reduce((sum, p, level) => sum + p * level, 0);
  if (Math.abs(score - weighted) > slack.score(levels))
    return { unusable: "the score is not what its probabilities come to" };
  const confidence = resolveConfidence(raw, scoreConfidence(figures));
  if (typeof confidence !== "number") return confidence;
  return { type: "score", score, confidence, probabilities: figures, providerFields };
}

/** What the provider says, else what follows from the distribution. */
function resolveConfidence({ confidence }: RawAnswer, computed: number | undefined): number | UnusableReply {
  if (confidence === undefined || confidence === null)
    return computed ?? { unusable: "there is neither a confidence nor a distribution to compute it from" };
  return isProbability(confidence) ? confidence : { unusable: "the confidence is not between 0 and 1" };
}

/** In the order of the names: one figure for each of them and none for anything else, adding up to one. */
function validateDistribution(
  reported: ReadonlyMap<string, unknown>,
  names: readonly string[],
  slack: RoundingTolerance,
): readonly number[] | UnusableReply {
  if (reported.size !== names.length) return { unusable: "the probabilities are not those of the options" };
  const figures: number[] = [];
  for (const name of names) {
    if (!reported.has(name)) return { unusable: "the probabilities are not those of the options" };
    const figure = reported.get(name);
    if (!isProbability(figure)) return { unusable: "a probability is not between 0 and 1" };
    figures.push(figure);
  }
  const sum = figures.reduce((total, figure) => total + figure, 0);
  return Math.abs(sum - 1) > slack.sum(names.length) ? { unusable: "the probabilities do not add up to one" } : figures;
}

function isProbability(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 1;
}
