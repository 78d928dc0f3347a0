import { z } from "zod";
import { tryParseJson } from "../kit/json.ts";
import { choiceConfidence, scoreConfidence } from "../language/decisions/confidence.ts";
import { openAiErrorBody } from "./chat.ts";
import { type DecisionContext, imageColourOf, optionProbabilities, roundTo, yesProbability } from "./decision-model.ts";
import { type DecisionFault, decisionFaultOf } from "./fault-injection.ts";
import { countTokens } from "./tokens.ts";
import {
  bearerToken,
  type ErrorResponse,
  errorResponse,
  type SimulatedResponse,
  type WireFormat,
} from "./wire-format.ts";

/** Both formats round probabilities. */
const DECIMALS = 2;
const roundProbability = (value: number) => roundTo(value, DECIMALS);
const TOKENS_PER_IMAGE = 64;
const OUTPUT_TOKENS_PER_QUESTION = 18;

const text = z.string().min(1);
const dataUrl = z.string().regex(/^data:image\/(png|jpeg|webp);base64,/);

const systemOneQuestion = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("noul"), instructions: text }),
  z.strictObject({
    type: z.literal("choice"),
    instructions: text,
    criteria: z.record(z.string(), z.string().nullable()).refine((value) => Object.keys(value).length >= 2),
  }),
  z.strictObject({ type: z.literal("score"), instructions: text, criteria: z.array(text).min(2).max(10) }),
]);
const systemOneState = z.union([z.string(), z.record(z.string(), z.unknown())]);
const systemOneBody = z.strictObject({
  model: text,
  state: z.union([
    systemOneState,
    z.tuple(
      [systemOneState],
      z.strictObject({ type: z.literal("image_url"), image_url: z.strictObject({ url: dataUrl }) }),
    ),
  ]),
  questions: z.record(z.string().regex(/^[A-Za-z0-9_.-]{1,100}$/), systemOneQuestion),
});

/** System One: questions by name, images as items of the state. */
export const systemOneFormat: WireFormat = {
  method: "POST",
  matches: (path) => path === "/v1/systemone",
  readCredential: bearerToken,
  parse({ body }) {
    const parsed = systemOneBody.safeParse(tryParseJson(body));
    if (!parsed.success) return schemaError(parsed.error);
    const { model, state, questions } = parsed.data;
    const [stateContent, ...images] = Array.isArray(state) ? state : [state];
    const context = contextOf(
      stateContent,
      images.map(({ image_url }) => image_url.url),
    );
    return {
      is: "accepted",
      model,
      respond: () => {
        const fault = decisionFaultOf(model);
        const answers = Object.entries(questions).flatMap(([key, question]) => {
          const { type } = question;
          const questionFault = type === "noul" ? undefined : fault;
          if (questionFault === "drops") return [];
          return [
            [
              key,
              questionFault === undefined
                ? systemOneAnswer(question, context)
                : faultyAnswer(questionFault, systemOneAnswer(question, context)),
            ],
          ];
        });
        const isUnmetered = fault === "unmetered" && Object.values(questions).some(({ type }) => type !== "noul");
        const input_tokens = requestTokens(body, images.length);
        const usage = { input_tokens, output_tokens: OUTPUT_TOKENS_PER_QUESTION * Object.keys(questions).length };
        return jsonResponse({ model, answers: Object.fromEntries(answers), ...(isUnmetered ? {} : { usage }) });
      },
    };
  },
  errorBody: ({ status, message, code }) =>
    JSON.stringify({ detail: status === 422 ? [{ msg: message, type: code }] : { error_type: code, message } }),
};

function systemOneAnswer(
  question: z.infer<typeof systemOneQuestion>,
  context: DecisionContext,
): Record<string, unknown> {
  const { type, instructions } = question;
  switch (question.type) {
    case "noul":
      return { type, noul: roundProbability(yesProbability(instructions, context)) };
    case "choice": {
      const names = Object.keys(question.criteria);
      const distribution = roundedProbabilities(
        names.map((name) => `${name} ${question.criteria[name] ?? ""}`),
        context,
      );
      const probabilities = Object.fromEntries(names.map((name, index) => [name, distribution[index]]));
      return {
        type,
        choice: names[indexOfMax(distribution)],
        probabilities,
        confidence: roundProbability(choiceConfidence(distribution)),
      };
    }
    case "score": {
      const distribution = roundedProbabilities(question.criteria, context);
      return {
        type,
        score: expectedScore(distribution),
        probabilities: Object.fromEntries(distribution.entries()),
        legend: Object.fromEntries(question.criteria.entries()),
        confidence: roundProbability(scoreConfidence(distribution)),
      };
    }
  }
}

function faultyAnswer(questionFault: DecisionFault, answer: Record<string, unknown>): Record<string, unknown> {
  if (questionFault === "refuses") return { type: "refusal" };
  return questionFault === "changes" ? { type: "noul", noul: 0.5 } : answer;
}

const openaiInstructions = z.union([text, z.array(z.looseObject({ type: text })).min(1)]);
const openaiQuestion = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("predicate"), name: text, instructions: openaiInstructions }),
  z.strictObject({
    type: z.literal("choice"),
    name: text,
    instructions: openaiInstructions,
    choices: z
      .array(z.strictObject({ value: z.union([text, z.boolean()]), description: z.string().optional() }))
      .min(2)
      .max(255),
  }),
  z.strictObject({
    type: z.literal("score"),
    name: text,
    instructions: openaiInstructions,
    levels: z
      .array(z.strictObject({ label: text, description: z.string().optional() }))
      .min(2)
      .max(10),
  }),
]);
const openaiPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("input_text"), text: z.string() }),
  z.strictObject({ type: z.literal("input_image"), image_url: dataUrl }),
  z.strictObject({ type: z.literal("input_json"), data: z.unknown() }),
]);
const openaiBody = z.strictObject({
  model: text,
  input: z.union([
    text,
    z.array(z.strictObject({ role: z.literal("user"), content: z.array(openaiPart).min(1) })).min(1),
  ]),
  questions: z.array(openaiQuestion).min(1).max(400),
});

/** OpenAI's Decisions: lists of questions and answers, images as parts of the input. */
export const openaiDecisionsFormat: WireFormat = {
  method: "POST",
  matches: (path) => path === "/v1/decisions",
  readCredential: bearerToken,
  parse({ body }) {
    const parsed = openaiBody.safeParse(tryParseJson(body));
    if (!parsed.success) return errorResponse(400, "The request format is invalid.", { code: "invalid_value" });
    const { model, input } = parsed.data;
    const parts = typeof input === "string" ? [] : input.flatMap(({ content }) => content);
    const images = parts.flatMap((part) => (part.type === "input_image" ? [part.image_url] : []));
    const texts = parts.flatMap((part) =>
      part.type === "input_text" ? [part.text] : part.type === "input_json" ? [JSON.stringify(part.data)] : [],
    );
    const context = contextOf(typeof input === "string" ? input : texts.join("\n"), images);
    return {
      is: "accepted",
      model,
      respond: () => openaiResponse(parsed.data, context, requestTokens(body, images.length)),
    };
  },
  errorBody: openAiErrorBody,
};

function openaiResponse(
  { model, questions }: z.infer<typeof openaiBody>,
  context: DecisionContext,
  input_tokens: number,
): SimulatedResponse {
  const fault = decisionFaultOf(model);
  const answers = questions.flatMap((question) => {
    const { name } = question;
    const questionFault = question.type === "predicate" ? undefined : fault;
    if (questionFault === "drops") return [];
    if (questionFault === "refuses") return [{ type: "refusal", name }];
    return [
      questionFault === "changes" ? { type: "predicate", name, probability: 0.5 } : openaiAnswer(question, context),
    ];
  });
  const isUnmetered = fault === "unmetered" && questions.some(({ type }) => type !== "predicate");
  const usage = {
    input_tokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens,
  };
  return jsonResponse({ model, answers, ...(isUnmetered ? {} : { usage }) });
}

function openaiAnswer(question: z.infer<typeof openaiQuestion>, context: DecisionContext): unknown {
  const { type, name, instructions } = question;
  switch (question.type) {
    case "predicate":
      return { type, name, probability: roundProbability(yesProbability(JSON.stringify(instructions), context)) };
    case "choice": {
      const { choices } = question;
      const distribution = roundedProbabilities(
        choices.map(({ value, description = "" }) => `${value} ${description}`),
        context,
      );
      return {
        type,
        name,
        choice: choices[indexOfMax(distribution)]?.value,
        confidence: roundProbability(choiceConfidence(distribution)),
        probabilities: choices.map(({ value }, index) => ({ value, probability: distribution[index] })),
      };
    }
    case "score": {
      const { levels } = question;
      const distribution = roundedProbabilities(
        levels.map(({ label, description = "" }) => `${label} ${description}`),
        context,
      );
      const probabilities = levels.map(({ label }, value) => ({ value, label, probability: distribution[value] }));
      return {
        type,
        name,
        score: expectedScore(distribution),
        confidence: roundProbability(scoreConfidence(distribution)),
        probabilities,
      };
    }
  }
}

function roundedProbabilities(texts: readonly string[], context: DecisionContext): number[] {
  return optionProbabilities(texts, context).map(roundProbability);
}

const indexOfMax = (distribution: readonly number[]) => distribution.indexOf(Math.max(...distribution));
const expectedScore = (distribution: readonly number[]) =>
  roundProbability(distribution.reduce((sum, share, level) => sum + share * level, 0));

function contextOf(state: unknown, images: readonly string[]): DecisionContext {
  const [first] = images;
  return {
    state: typeof state === "string" ? state : JSON.stringify(state),
    imageColour: first === undefined ? null : imageColourOf(first),
  };
}

function requestTokens(body: Buffer, images: number): number {
  const withoutImages = body.toString("utf8").replace(/data:image\/[a-z]+;base64,[^"]*/g, "");
  return countTokens(withoutImages) + images * TOKENS_PER_IMAGE;
}

function schemaError({ issues }: z.ZodError): ErrorResponse {
  const [first] = issues;
  return errorResponse(422, first?.message ?? "Input should be valid", { code: first?.code ?? "missing" });
}

function jsonResponse(body: unknown): SimulatedResponse {
  return { is: "body", contentType: "application/json", body: JSON.stringify(body), tokens: 1 };
}
