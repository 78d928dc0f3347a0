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

/** Figures of both formats are told with so many decimals. */
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
    const [said, ...images] = Array.isArray(state) ? state : [state];
    const scene = contextOf(
      said,
      images.map(({ image_url }) => image_url.url),
    );
    return {
      is: "accepted",
      model,
      respond: () => {
        const misdeed = decisionFaultOf(model);
        const answers = Object.entries(questions).flatMap(([key, question]) => {
          const { type } = question;
          const wrong = type === "noul" ? undefined : misdeed;
          if (wrong === "drops") return [];
          return [
            [
              key,
              wrong === undefined
                ? systemOneAnswer(question, scene)
                : faultyAnswer(wrong, systemOneAnswer(question, scene)),
            ],
          ];
        });
        const isUnmetered = misdeed === "unmetered" && Object.values(questions).some(({ type }) => type !== "noul");
        const input_tokens = requestTokens(body, images.length);
        const usage = { input_tokens, output_tokens: OUTPUT_TOKENS_PER_QUESTION * Object.keys(questions).length };
        return jsonResponse({ model, answers: Object.fromEntries(answers), ...(isUnmetered ? {} : { usage }) });
      },
    };
  },
  errorBody: ({ status, message, code }) =>
    JSON.stringify({ detail: status === 422 ? [{ msg: message, type: code }] : { error_type: code, message } }),
};

function systemOneAnswer(question: z.infer<typeof systemOneQuestion>, scene: DecisionContext): Record<string, unknown> {
  const { type, instructions } = question;
  switch (question.type) {
    case "noul":
      return { type, noul: roundProbability(yesProbability(instructions, scene)) };
    case "choice": {
      const names = Object.keys(question.criteria);
      const shares = roundedProbabilities(
        names.map((name) => `${name} ${question.criteria[name] ?? ""}`),
        scene,
      );
      const probabilities = Object.fromEntries(names.map((name, place) => [name, shares[place]]));
      return {
        type,
        choice: names[indexOfMax(shares)],
        probabilities,
        confidence: roundProbability(choiceConfidence(shares)),
      };
    }
    case "score": {
      const shares = roundedProbabilities(question.criteria, scene);
      return {
        type,
        score: expectedScore(shares),
        probabilities: Object.fromEntries(shares.entries()),
        legend: Object.fromEntries(question.criteria.entries()),
        confidence: roundProbability(scoreConfidence(shares)),
      };
    }
  }
}

function faultyAnswer(wrong: DecisionFault, answer: Record<string, unknown>): Record<string, unknown> {
  if (wrong === "refuses") return { type: "refusal" };
  return wrong === "changes" ? { type: "noul", noul: 0.5 } : answer;
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

/** OpenAI's Decisions: questions and answers in a list, images as parts of the input. */
export const openaiDecisionsFormat: WireFormat = {
  method: "POST",
  matches: (path) => path === "/v1/decisions",
  readCredential: bearerToken,
  parse({ body }) {
    const parsed = openaiBody.safeParse(tryParseJson(body));
    if (!parsed.success)
      return errorResponse(400, "The request is not one of this interface.", { code: "invalid_value" });
    const { model, input } = parsed.data;
    const parts = typeof input === "string" ? [] : input.flatMap(({ content }) => content);
    const images = parts.flatMap((part) => (part.type === "input_image" ? [part.image_url] : []));
    const said = parts.flatMap((part) =>
      part.type === "input_text" ? [part.text] : part.type === "input_json" ? [JSON.stringify(part.data)] : [],
    );
    const scene = contextOf(typeof input === "string" ? input : said.join("\n"), images);
    return {
      is: "accepted",
      model,
      respond: () => openaiResponse(parsed.data, scene, requestTokens(body, images.length)),
    };
  },
  errorBody: openAiErrorBody,
};

function openaiResponse(
  { model, questions }: z.infer<typeof openaiBody>,
  scene: DecisionContext,
  input_tokens: number,
): SimulatedResponse {
  const misdeed = decisionFaultOf(model);
  const answers = questions.flatMap((question) => {
    const { name } = question;
    const wrong = question.type === "predicate" ? undefined : misdeed;
    if (wrong === "drops") return [];
    if (wrong === "refuses") return [{ type: "refusal", name }];
    return [wrong === "changes" ? { type: "predicate", name, probability: 0.5 } : openaiAnswer(question, scene)];
  });
  const isUnmetered = misdeed === "unmetered" && questions.some(({ type }) => type !== "predicate");
  const usage = {
    input_tokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens,
  };
  return jsonResponse({ model, answers, ...(isUnmetered ? {} : { usage }) });
}

function openaiAnswer(question: z.infer<typeof openaiQuestion>, scene: DecisionContext): unknown {
  const { type, name, instructions } = question;
  switch (question.type) {
    case "predicate":
      return { type, name, probability: roundProbability(yesProbability(JSON.stringify(instructions), scene)) };
    case "choice": {
      const { choices } = question;
      const shares = roundedProbabilities(
        choices.map(({ value, description = "" }) => `${value} ${description}`),
        scene,
      );
      return {
        type,
        name,
        choice: choices[indexOfMax(shares)]?.value,
        confidence: roundProbability(choiceConfidence(shares)),
        probabilities: choices.map(({ value }, place) => ({ value, probability: shares[place] })),
      };
    }
    case "score": {
      const { levels } = question;
      const shares = roundedProbabilities(
        levels.map(({ label, description = "" }) => `${label} ${description}`),
        scene,
      );
      const probabilities = levels.map(({ label }, value) => ({ value, label, probability: shares[value] }));
      return {
        type,
        name,
        score: expectedScore(shares),
        confidence: roundProbability(scoreConfidence(shares)),
        probabilities,
      };
    }
  }
}

function roundedProbabilities(texts: readonly string[], scene: DecisionContext): number[] {
  return optionProbabilities(texts, scene).map(roundProbability);
}

const indexOfMax = (shares: readonly number[]) => shares.indexOf(Math.max(...shares));
const expectedScore = (shares: readonly number[]) =>
  roundProbability(shares.reduce((sum, share, level) => sum + share * level, 0));

function contextOf(state: unknown, images: readonly string[]): DecisionContext {
  const [first] = images;
  return {
    state: typeof state === "string" ? state : JSON.stringify(state),
    imageColour: first === undefined ? null : imageColourOf(first),
  };
}

function requestTokens(body: Buffer, images: number): number {
  const bare = body.toString("utf8").replace(/data:image\/[a-z]+;base64,[^"]*/g, "");
  return countTokens(bare) + images * TOKENS_PER_IMAGE;
}

function schemaError({ issues }: z.ZodError): ErrorResponse {
  const [first] = issues;
  return errorResponse(422, first?.message ?? "Input should be valid", { code: first?.code ?? "missing" });
}

function jsonResponse(body: unknown): SimulatedResponse {
  return { is: "body", contentType: "application/json", body: JSON.stringify(body), tokens: 1 };
}
