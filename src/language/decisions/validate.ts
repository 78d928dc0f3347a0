import type { UnusableReply } from "../canon/reply.ts";
import type { DecisionQuestion } from "./call.ts";
import { choiceConfidence, scoreConfidence } from "./confidence.ts";
import type { DecisionAnswer, RawAnswer, RawReply } from "./reply.ts";

/** Below this share of the model's mind its labels say nothing. */
const LABEL_MASS_MIN = 0.5;

/** How far rounding may carry figures from what they must add up to. */
type Slack = {
  sum(count: number): number;
  readonly choice: number;
  score(levels: number): number;
};

/** Arithmetic on binary fractions is off by less than this. */
const EPSILON = 1e-6;
const UNKNOWN_SUM = 0.02;
const UNKNOWN_DECIMALS = 2;

function slackFor(decimals: number | null): Slack {
  const half = 0.5 * 10 ** -(decimals ?? UNKNOWN_DECIMALS);
  return {
    sum: (count) => EPSILON + (decimals === null ? UNKNOWN_SUM : count * half),
    choice: EPSILON + 2 * half,
    score: (levels) => EPSILON + half * ((levels * (levels - 1)) / 2 + 1),
  };
}

/** By the caller's keys, in the order of the questions. */
export type Checked = ReadonlyMap<string, DecisionAnswer>;

/**
 * All questions answered in the type asked with figures that hold together, or nothing. What is wrong is said without
 * content, and nothing is ever repaired. It goes into the log, which keeps no names of questions: they go by their place.
 */
export function checkReply(
  reply: Pick<RawReply, "answers" | "truncated">,
  questions: readonly DecisionQuestion[],
  decimals: number | null,
  firstPlace = 1,
): Checked | UnusableReply {
  if (reply.truncated) return { unusable: "the provider did not read all of the state" };
  const byId = new Map(reply.answers);
  if (byId.size !== reply.answers.length) return { unusable: "a question is answered twice" };
  const checked = new Map<string, DecisionAnswer>();
  const slack = slackFor(decimals);
  for (const [at, question] of questions.entries()) {
    const raw = byId.get(question.id);
    if (raw === undefined) return wrongAt(firstPlace + at, "there is no answer");
    const answer = checkAnswer(raw, question, slack);
    if ("unusable" in answer) return wrongAt(firstPlace + at, answer.unusable);
    checked.set(question.key, answer);
  }
  if (byId.size !== questions.length) return { unusable: "there is an answer that nobody asked for" };
  return checked;
}

export function wrongAt(place: number, what: string): UnusableReply {
  return { unusable: `question ${place}: ${what}` };
}

function checkAnswer(raw: RawAnswer, question: DecisionQuestion, slack: Slack): DecisionAnswer | UnusableReply {
  if (raw.type === "refusal") return { type: "refusal" };
  if (raw.type !== question.type) return { unusable: `the answer is not of the type ${question.type}` };
  if (raw.labelMass !== undefined && !(isShare(raw.labelMass) && raw.labelMass >= LABEL_MASS_MIN))
    return { unusable: "the model had hardly a mind for the labels" };
  if (raw.argmaxIsLabel === false) return { unusable: "the model wanted to say something else" };
  switch (question.type) {
    case "noul":
      return checkNoul(raw, slack);
    case "choice":
      return checkChoice(
        raw,
        question.options.map(({ name }) => name),
        slack,
      );
    case "score":
      return checkScore(raw, question.levels.length, slack);
  }
}

function checkNoul({ value, probabilities }: RawAnswer, slack: Slack): DecisionAnswer | UnusableReply {
  if (!isShare(value)) return { unusable: "the answer is no probability" };
  const both = probabilities === undefined ? [] : distribution(probabilities, ["yes", "no"], slack);
  return "unusable" in both ? both : { type: "noul", noul: value };
}

function checkChoice(raw: RawAnswer, names: readonly string[], slack: Slack): DecisionAnswer | UnusableReply {
  const { value: choice } = raw;
  if (typeof choice !== "string" || !names.includes(choice)) return { unusable: "the choice is none of the options" };
  const figures = raw.probabilities === undefined ? undefined : distribution(raw.probabilities, names, slack);
  if (figures !== undefined && "unusable" in figures) return figures;
  if (figures !== undefined) {
    const chosen = figures[names.indexOf(choice)] ?? 0;
    if (chosen < Math.max(...figures) - slack.choice) return { unusable: "another option is likelier than the choice" };
  }
  const confidence = confidenceOf(raw, figures === undefined ? undefined : choiceConfidence(figures));
  if (typeof confidence !== "number") return confidence;
  const probabilities =
    figures === undefined ? undefined : new Map(names.map((name, place) => [name, figures[place] ?? 0]));
  return { type: "choice", choice, confidence, probabilities };
}

function checkScore(raw: RawAnswer, levels: number, slack: Slack): DecisionAnswer | UnusableReply {
  const { value: score, probabilities, sent } = raw;
  if (typeof score !== "number" || !(score >= 0 && score <= levels - 1))
    return { unusable: "the score is not between the lowest and the highest level" };
  if (probabilities === undefined) return { unusable: "there are no probabilities of the levels" };
  const names = Array.from({ length: levels }, (_, level) => String(level));
  const figures = distribution(probabilities, names, slack);
  if ("unusable" in figures) return figures;
  const weighted = figures.reduce((sum, p, level) => sum + p * level, 0);
  if (Math.abs(score - weighted) > slack.score(levels))
    return { unusable: "the score is not what its probabilities come to" };
  const confidence = confidenceOf(raw, scoreConfidence(figures));
  if (typeof confidence !== "number") return confidence;
  return { type: "score", score, confidence, probabilities: figures, sent };
}

/** What the provider says, else what follows from the distribution. */
function confidenceOf({ confidence }: RawAnswer, computed: number | undefined): number | UnusableReply {
  if (confidence === undefined || confidence === null)
    return computed ?? { unusable: "there is neither a confidence nor a distribution to compute it from" };
  return isShare(confidence) ? confidence : { unusable: "the confidence is not between 0 and 1" };
}

/** In the order of the names: one figure for each of them and none for anything else, adding up to one. */
function distribution(
  told: ReadonlyMap<string, unknown>,
  names: readonly string[],
  slack: Slack,
): readonly number[] | UnusableReply {
  if (told.size !== names.length) return { unusable: "the probabilities are not those of the options" };
  const figures: number[] = [];
  for (const name of names) {
    if (!told.has(name)) return { unusable: "the probabilities are not those of the options" };
    const figure = told.get(name);
    if (!isShare(figure)) return { unusable: "a probability is not between 0 and 1" };
    figures.push(figure);
  }
  const sum = figures.reduce((total, figure) => total + figure, 0);
  return Math.abs(sum - 1) > slack.sum(names.length) ? { unusable: "the probabilities do not add up to one" } : figures;
}

function isShare(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 1;
}
