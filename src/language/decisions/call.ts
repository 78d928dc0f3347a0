import type { JsonObject } from "../../kit/json.ts";
import { type TextTokenEstimator, TOKENS_PER_MEDIA } from "../canon/tokens.ts";
import {
  IMAGE_TOKENS_MAX,
  PLAUSIBLE_FACTOR,
  PROVIDER_OVERHEAD_TOKENS,
  REASONING_ALLOWANCE_TOKENS,
  type UsageCeiling,
} from "../canon/usage-ceiling.ts";
import type { DecisionImage } from "./image.ts";

/** The subject of the questions. */
export type DecisionState = string | JsonObject;

/** `key` is the caller's name for the question, `id` the one that providers get. */
export type DecisionQuestion = {
  readonly key: string;
  readonly id: string;
  readonly instructions: string;
  /** Path in the caller's request, if not `questions.<key>`. */
  readonly path?: string;
} & (
  | { readonly type: "noul" }
  | { readonly type: "choice"; readonly options: readonly DecisionOption[] }
  /** Lowest first. */
  | { readonly type: "score"; readonly levels: readonly string[] }
);

export type DecisionOption = { readonly name: string; readonly description: string | null };

/** The canonical decision request: typed questions about one state. */
export type DecisionCall = {
  readonly model: string;
  readonly state: DecisionState;
  readonly questions: readonly DecisionQuestion[];
  readonly images: readonly DecisionImage[];
  /** Request fields that do not affect the answer and are not forwarded. */
  readonly ignoredFields?: readonly string[];
  /** The caller's field for state and images, if one field carries both. */
  readonly inputField?: string;
};

const KEY_MAX_CHARS = 100;

/** The request path of a question, used in errors. */
export function questionPath({ key, path }: DecisionQuestion): string {
  return path ?? `questions.${key.slice(0, KEY_MAX_CHARS)}`;
}

export function criteriaPath(question: DecisionQuestion): string {
  const own = question.type === "choice" ? "choices" : "levels";
  return `${questionPath(question)}.${question.path === undefined ? "criteria" : own}`;
}

/** Ids that every provider accepts; servers may drop `__proto__`. */
const PORTABLE_ID = /^(?!__proto__$)[A-Za-z0-9_.-]{1,64}$/;

/** Uses the caller's names where every provider accepts them, and generated unique ids otherwise. */
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

export function optionText({ name, description }: DecisionOption): string {
  return description === null || description === "" ? name : `${name} - ${description}`;
}

/** Overhead per question. */
const TOKENS_PER_QUESTION = 24;
/** Overhead per request: system prompt and template tokens. */
const TOKENS_PER_REQUEST = 96;

/** Token estimate of a request, computed once for all candidate endpoints. */
export type DecisionTokenEstimate = {
  /** Tokens of the shared state, including images. */
  readonly stateTokens: number;
  /** In question order. */
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

/** Usage above this is implausible. Some providers read the state again for each question, with a prompt of their own. */
export function implausibleUsage(call: DecisionCall): UsageCeiling {
  const { questions, images } = call;
  const { stateTokens: state, questionTokens } = estimateDecisionTokens(call, ({ length }) => length);
  const chars = questionTokens.reduce((sum, question) => sum + state + question, 0);
  const overheadTokens = questions.length * (PROVIDER_OVERHEAD_TOKENS + images.length * IMAGE_TOKENS_MAX);
  const outputTokens = questions.length * REASONING_ALLOWANCE_TOKENS;
  return {
    inputTokens: PLAUSIBLE_FACTOR * chars + overheadTokens,
    visibleOutputTokens: outputTokens,
    outputTokens,
  };
}

function questionTokens(question: DecisionQuestion, textTokens: TextTokenEstimator): number {
  const texts = [question.id, question.instructions, ...criteriaTexts(question)];
  return TOKENS_PER_QUESTION + texts.reduce((sum, text) => sum + 2 + textTokens(text), 0);
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
