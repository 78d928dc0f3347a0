import type { DecisionInterface } from "../../src/domain/catalogue/decisions-support.ts";
import type { Decider } from "./decisions.ts";
import type { Json } from "./gateway.ts";
import type { ReplySource } from "./upstream.ts";

/** The interface of every decider that answers all questions at once. */
export const DECIDER_FORMATS: Readonly<Partial<Record<Decider, DecisionInterface>>> = {
  alpha: "system_one",
  beta: "openai",
  gamma: "sglang",
  delta: "logprobs",
  epsilon: "logprobs",
  kappa: "system_one",
};

type Shares = Readonly<Record<string, number>>;

/** Valid answers to any questions: yes, and the first option or level. */
export const DECIDER_ANSWERS: Readonly<Partial<Record<Decider, ReplySource>>> = {
  alpha: ({ json }: { json: Json }) => ({ json: systemOne(json) }),
  beta: ({ json }: { json: Json }) => ({
    json: {
      model: "up",
      answers: json.questions.map(openaiAnswer),
      usage: { input_tokens: 130, output_tokens: 1, total_tokens: 131 },
    },
  }),
  gamma: ({ json }: { json: Json }) => ({
    json: {
      object: "decisions",
      model: "up",
      answers: Object.fromEntries(json.questions.map((one: Json) => [one.id, sglangAnswer(one)])),
      usage: { prompt_tokens: 140, total_tokens: 140 },
    },
  }),
  kappa: ({ json }: { json: Json }) => ({ json: { result: systemOne(json), success: true, errors: [], messages: [] } }),
};

function systemOne({ questions }: Json): Json {
  const answers = Object.entries<Json>(questions).map(([id, { type, criteria }]) => {
    if (type === "noul") return [id, { type, noul: 1 }];
    if (type === "choice") {
      const probabilities = firstOf(Object.keys(criteria));
      return [id, { type, choice: Object.keys(criteria)[0], probabilities, confidence: 1 }];
    }
    return [id, { type, score: 0, probabilities: firstOf(Object.keys(criteria)), confidence: 1 }];
  });
  return { model: "up", answers: Object.fromEntries(answers), usage: { input_tokens: 120, output_tokens: 3 } };
}

function openaiAnswer({ type, name, choices, levels }: Json): Json {
  if (type === "predicate") return { type, name, probability: 1 };
  const share = (value: unknown, at: number) => ({ value, probability: at === 0 ? 1 : 0 });
  if (type === "choice") {
    const values: unknown[] = choices.map(({ value }: Json) => value);
    return { type, name, choice: values[0], confidence: 1, probabilities: values.map(share) };
  }
  return {
    type,
    name,
    score: 0,
    confidence: 1,
    probabilities: levels.map((one: Json, at: number) => ({ ...share(at, at), label: one.label })),
  };
}

function sglangAnswer({ type, options, levels }: Json): Json {
  if (type === "yes_no") return { type, probabilities: { yes: 1, no: 0 }, label_mass: 1 };
  if (type === "score") return { type, score: 0, probabilities: firstOf(Object.keys(levels)), label_mass: 1 };
  const names: string[] = options.map(({ name }: Json) => name);
  return { type, choice: names[0], probabilities: firstOf(names), label_mass: 1 };
}

const firstOf = (names: readonly string[]): Shares =>
  Object.fromEntries(names.map((name, at) => [name, at === 0 ? 1 : 0]));
