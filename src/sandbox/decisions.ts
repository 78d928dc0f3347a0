import { z } from "zod";
import { tryParseJson } from "../kit/json.ts";
import { choiceConfidence, scoreConfidence } from "../language/decisions/confidence.ts";
import { openAiError } from "./chat.ts";
import { colourOf, rounded, type Scene, shareAmong, yesTo } from "./decide.ts";
import { type Misdeed, misdeedOf } from "./misdeeds.ts";
import { countTokens } from "./tokens.ts";
import { bearerOf, type Delivery, type Refusal, refusal, type WireFormat } from "./wire.ts";

/** Figures of both formats are told with so many decimals. */
const DECIMALS = 2;
const round = (value: number) => rounded(value, DECIMALS);
const TOKENS_PER_IMAGE = 64;
const OUTPUT_TOKENS_PER_QUESTION = 18;

const text = z.string().min(1);
const dataUrl = z.string().regex(/^data:image\/(png|jpeg|webp);base64,/);

const soQuestion = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("noul"), instructions: text }),
  z.strictObject({
    type: z.literal("choice"),
    instructions: text,
    criteria: z.record(z.string(), z.string().nullable()).refine((value) => Object.keys(value).length >= 2),
  }),
  z.strictObject({ type: z.literal("score"), instructions: text, criteria: z.array(text).min(2).max(10) }),
]);
const soState = z.union([z.string(), z.record(z.string(), z.unknown())]);
const soBody = z.strictObject({
  model: text,
  state: z.union([
    soState,
    z.tuple([soState], z.strictObject({ type: z.literal("image_url"), image_url: z.strictObject({ url: dataUrl }) })),
  ]),
  questions: z.record(z.string().regex(/^[A-Za-z0-9_.-]{1,100}$/), soQuestion),
});

/** System One: questions by name, images as items of the state. */
export const systemOneFormat: WireFormat = {
  method: "POST",
  claims: (path) => path === "/v1/systemone",
  tokenOf: bearerOf,
  open({ body }) {
    const parsed = soBody.safeParse(tryParseJson(body));
    if (!parsed.success) return schemaRefusal(parsed.error);
    const { model, state, questions } = parsed.data;
    const [said, ...images] = Array.isArray(state) ? state : [state];
    const scene = sceneOf(
      said,
      images.map(({ image_url }) => image_url.url),
    );
    return {
      is: "opened",
      model,
      deliver: () => {
        const misdeed = misdeedOf(model);
        const answers = Object.entries(questions).flatMap(([key, question]) => {
          const { type } = question;
          const wrong = type === "noul" ? undefined : misdeed;
          if (wrong === "drops") return [];
          return [
            [key, wrong === undefined ? soAnswer(question, scene) : wrongAnswer(wrong, soAnswer(question, scene))],
          ];
        });
        const isUnmetered = misdeed === "unmetered" && Object.values(questions).some(({ type }) => type !== "noul");
        const input_tokens = tokensOf(body, images.length);
        const usage = { input_tokens, output_tokens: OUTPUT_TOKENS_PER_QUESTION * Object.keys(questions).length };
        return whole({ model, answers: Object.fromEntries(answers), ...(isUnmetered ? {} : { usage }) });
      },
    };
  },
  refusalBody: ({ status, message, code }) =>
    JSON.stringify({ detail: status === 422 ? [{ msg: message, type: code }] : { error_type: code, message } }),
};

function soAnswer(question: z.infer<typeof soQuestion>, scene: Scene): Record<string, unknown> {
  const { type, instructions } = question;
  switch (question.type) {
    case "noul":
      return { type, noul: round(yesTo(instructions, scene)) };
    case "choice": {
      const names = Object.keys(question.criteria);
      const shares = sharesOf(
        names.map((name) => `${name} ${question.criteria[name] ?? ""}`),
        scene,
      );
      const probabilities = Object.fromEntries(names.map((name, place) => [name, shares[place]]));
      return { type, choice: names[best(shares)], probabilities, confidence: round(choiceConfidence(shares)) };
    }
    case "score": {
      const shares = sharesOf(question.criteria, scene);
      return {
        type,
        score: scoreOf(shares),
        probabilities: Object.fromEntries(shares.entries()),
        legend: Object.fromEntries(question.criteria.entries()),
        confidence: round(scoreConfidence(shares)),
      };
    }
  }
}

function wrongAnswer(wrong: Misdeed, answer: Record<string, unknown>): Record<string, unknown> {
  if (wrong === "refuses") return { type: "refusal" };
  return wrong === "changes" ? { type: "noul", noul: 0.5 } : answer;
}

const odInstructions = z.union([text, z.array(z.looseObject({ type: text })).min(1)]);
const odQuestion = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("predicate"), name: text, instructions: odInstructions }),
  z.strictObject({
    type: z.literal("choice"),
    name: text,
    instructions: odInstructions,
    choices: z
      .array(z.strictObject({ value: z.union([text, z.boolean()]), description: z.string().optional() }))
      .min(2)
      .max(255),
  }),
  z.strictObject({
    type: z.literal("score"),
    name: text,
    instructions: odInstructions,
    levels: z
      .array(z.strictObject({ label: text, description: z.string().optional() }))
      .min(2)
      .max(10),
  }),
]);
const odPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("input_text"), text: z.string() }),
  z.strictObject({ type: z.literal("input_image"), image_url: dataUrl }),
  z.strictObject({ type: z.literal("input_json"), data: z.unknown() }),
]);
const odBody = z.strictObject({
  model: text,
  input: z.union([text, z.array(z.strictObject({ role: z.literal("user"), content: z.array(odPart).min(1) })).min(1)]),
  questions: z.array(odQuestion).min(1).max(400),
});

/** OpenAI's Decisions: questions and answers in a list, images as parts of the input. */
export const openaiDecisionsFormat: WireFormat = {
  method: "POST",
  claims: (path) => path === "/v1/decisions",
  tokenOf: bearerOf,
  open({ body }) {
    const parsed = odBody.safeParse(tryParseJson(body));
    if (!parsed.success) return refusal(400, "The request is not one of this interface.", { code: "invalid_value" });
    const { model, input } = parsed.data;
    const parts = typeof input === "string" ? [] : input.flatMap(({ content }) => content);
    const images = parts.flatMap((part) => (part.type === "input_image" ? [part.image_url] : []));
    const said = parts.flatMap((part) =>
      part.type === "input_text" ? [part.text] : part.type === "input_json" ? [JSON.stringify(part.data)] : [],
    );
    const scene = sceneOf(typeof input === "string" ? input : said.join("\n"), images);
    return { is: "opened", model, deliver: () => odDelivery(parsed.data, scene, tokensOf(body, images.length)) };
  },
  refusalBody: openAiError,
};

function odDelivery({ model, questions }: z.infer<typeof odBody>, scene: Scene, input_tokens: number): Delivery {
  const misdeed = misdeedOf(model);
  const answers = questions.flatMap((question) => {
    const { name } = question;
    const wrong = question.type === "predicate" ? undefined : misdeed;
    if (wrong === "drops") return [];
    if (wrong === "refuses") return [{ type: "refusal", name }];
    return [wrong === "changes" ? { type: "predicate", name, probability: 0.5 } : odAnswer(question, scene)];
  });
  const isUnmetered = misdeed === "unmetered" && questions.some(({ type }) => type !== "predicate");
  const usage = {
    input_tokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens,
  };
  return whole({ model, answers, ...(isUnmetered ? {} : { usage }) });
}

function odAnswer(question: z.infer<typeof odQuestion>, scene: Scene): unknown {
  const { type, name, instructions } = question;
  switch (question.type) {
    case "predicate":
      return { type, name, probability: round(yesTo(JSON.stringify(instructions), scene)) };
    case "choice": {
      const { choices } = question;
      const shares = sharesOf(
        choices.map(({ value, description = "" }) => `${value} ${description}`),
        scene,
      );
      return {
        type,
        name,
        choice: choices[best(shares)]?.value,
        confidence: round(choiceConfidence(shares)),
        probabilities: choices.map(({ value }, place) => ({ value, probability: shares[place] })),
      };
    }
    case "score": {
      const { levels } = question;
      const shares = sharesOf(
        levels.map(({ label, description = "" }) => `${label} ${description}`),
        scene,
      );
      const probabilities = levels.map(({ label }, value) => ({ value, label, probability: shares[value] }));
      return { type, name, score: scoreOf(shares), confidence: round(scoreConfidence(shares)), probabilities };
    }
  }
}

function sharesOf(texts: readonly string[], scene: Scene): number[] {
  return shareAmong(texts, scene).map(round);
}

const best = (shares: readonly number[]) => shares.indexOf(Math.max(...shares));
const scoreOf = (shares: readonly number[]) => round(shares.reduce((sum, share, level) => sum + share * level, 0));

function sceneOf(state: unknown, images: readonly string[]): Scene {
  const [first] = images;
  return {
    state: typeof state === "string" ? state : JSON.stringify(state),
    colour: first === undefined ? null : colourOf(first),
  };
}

function tokensOf(body: Buffer, images: number): number {
  const bare = body.toString("utf8").replace(/data:image\/[a-z]+;base64,[^"]*/g, "");
  return countTokens(bare) + images * TOKENS_PER_IMAGE;
}

function schemaRefusal({ issues }: z.ZodError): Refusal {
  const [first] = issues;
  return refusal(422, first?.message ?? "Input should be valid", { code: first?.code ?? "missing" });
}

function whole(body: unknown): Delivery {
  return { is: "whole", contentType: "application/json", body: JSON.stringify(body), tokens: 1 };
}
