import type { JsonObject } from "../../kit/json.ts";
import { type TextTokenEstimator, TOKENS_PER_MEDIA } from "../canon/estimate.ts";
import {
  IMAGE_TOKENS_MAX,
  PLAUSIBLE_FACTOR,
  PROVIDER_OVERHEAD_TOKENS,
  REASONING_ALLOWANCE_TOKENS,
  type UsageCeiling,
} from "../canon/usage-plausibility.ts";
import type { DecisionImage } from "./image.ts";

/** What is asked about: a text, or an object of any shape. */
export type DecisionState = string | JsonObject;

/** One question. `key` is the caller's name for it, `id` the one that providers get. */
export type DecisionQuestion = {
  readonly key: string;
  readonly id: string;
  readonly instructions: string;
  /** Where it stands in the caller's request, if not under its key. */
  readonly path?: string;
} & (
  | { readonly type: "noul" }
  | { readonly type: "choice"; readonly options: readonly DecisionOption[] }
  /** Lowest first. */
  | { readonly type: "score"; readonly levels: readonly string[] }
);

export type DecisionOption = { readonly name: string; readonly description: string | null };

/** Typed questions about one state, whatever shape they came in. */
export type DecisionCall = {
  readonly model: string;
  readonly state: DecisionState;
  readonly questions: readonly DecisionQuestion[];
  readonly images: readonly DecisionImage[];
  /** Fields that change nothing of the answer, and go to no provider. */
  readonly ignoredFields?: readonly string[];
  /** The caller's field for state and images, if it is one for both. */
  readonly inputField?: string;
};

const KEY_MAX_CHARS = 100;

/** The caller's own name for a question, as errors say it. */
export function questionPath({ key, path }: DecisionQuestion): string {
  return path ?? `questions.${key.slice(0, KEY_MAX_CHARS)}`;
}

export function criteriaPath(question: DecisionQuestion): string {
  const own = question.type === "choice" ? "choices" : "levels";
  return `${questionPath(question)}.${question.path === undefined ? "criteria" : own}`;
}

/** What every server takes as the name of a question. */
const PORTABLE_ID = /^[A-Za-z0-9_.-]{1,64}$/;

/** The caller's own names where every server takes them, others in the place of the rest; no two are the same. */
export function assignQuestionIds(keys: readonly (string | null)[]): string[] {
  const taken = new Set(keys.filter((key) => key !== null && PORTABLE_ID.test(key)));
  let count = 0;
  return keys.map((key) => {
    if (key !== null && PORTABLE_ID.test(key)) return key;
    do count += 1;
    while (taken.has(`q${count}`));
    return `q${count}`;
  });
}

export function stateText(state: DecisionState): string {
  return typeof state === "string" ? state : JSON.stringify(state);
}

/** The words of an option or a level as one line. */
export function optionText({ name, description }: DecisionOption): string {
  return description === null || description === "" ? name : `${name} - ${description}`;
}

/** What every question costs beside its own words. */
const TOKENS_PER_QUESTION = 24;
/** Instructions, templates and marks around a request. */
const TOKENS_PER_REQUEST = 96;

/** What a request may be counted at: read once, however many endpoints it is held against. */
export type DecisionTokenEstimate = {
  /** Tokens of what all questions are about. */
  readonly stateTokens: number;
  /** In the order of the questions. */
  readonly questionTokens: readonly number[];
};

export function estimateDecisionTokens(
  { state, images, questions }: DecisionCall,
  textTokens: TextTokenEstimator,
): DecisionTokenEstimate {
  return {
    stateTokens: TOKENS_PER_REQUEST + textTokens(stateText(state)) + images.length * TOKENS_PER_MEDIA,
    questionTokens: questions.map((question) => questionTokens(question, textTokens)),
  };
}

/** Where the tokens end that can be of it. Some read everything again for each question, with instructions of their own. */
export function implausibleUsage(ask: DecisionCall): UsageCeiling {
  const { questions, images } = ask;
  const { stateTokens: state, questionTokens } = estimateDecisionTokens(ask, ({ length }) => length);
  const chars = questionTokens.reduce((sum, question) => sum + state + question, 0);
  const around = questions.length * (PROVIDER_OVERHEAD_TOKENS + images.length * IMAGE_TOKENS_MAX);
  const written = questions.length * REASONING_ALLOWANCE_TOKENS;
  return { inputTokens: PLAUSIBLE_FACTOR * chars + around, visibleOutputTokens: written, outputTokens: written };
}

function questionTokens(question: DecisionQuestion, textTokens: TextTokenEstimator): number {
  const words = [question.id, question.instructions, ...criteriaTexts(question)];
  return TOKENS_PER_QUESTION + words.reduce((sum, text) => sum + 2 + textTokens(text), 0);
}

function criteriaTexts(question: DecisionQuestion): readonly string[] {
  switch (question.type) {
    case "noul":
      return [];
    case "choice":
      return question.options.map(optionText);
    case "score":
      return question.levels;
  }
}
