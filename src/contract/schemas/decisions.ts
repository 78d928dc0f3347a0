import { z } from "zod";
import { ModelName } from "./model-name.ts";
import { wishFields } from "./routing-hints.ts";

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

export const QUESTIONS_MAX = 32;
export const IMAGES_MAX = 4;
/** Options or levels of one question: several times what any provider takes. */
export const CRITERIA_MAX = 1000;

const words = z.string().regex(/\S/, "must not be empty");
const instructions = words.describe("The question.");
const model = ModelName.describe("A model with the decisions surface in `svc_surfaces`.");

const sizeOf = (value: object) => Object.keys(value).length;

const OPTIONS_WORDS = "must be an object with option names and descriptions";

const Noul = z
  .strictObject({ type: z.literal("noul"), instructions })
  .meta({ id: "NoulQuestion", description: "Yes or no; answered with the probability of yes." });

const Choice = z
  .strictObject({
    type: z.literal("choice"),
    instructions,
    criteria: z
      .record(words, z.string().nullable(), {
        error: ({ code }) => (code === "invalid_key" ? "must not have an empty option name" : OPTIONS_WORDS),
      })
      .refine((value) => sizeOf(value) >= 2, "must have at least two options")
      .refine((value) => sizeOf(value) <= CRITERIA_MAX, `must have at most ${CRITERIA_MAX} options`)
      .meta({ minProperties: 2, maxProperties: CRITERIA_MAX, description: "Option name to description." }),
  })
  .meta({ id: "ChoiceQuestion", description: "One of several options." });

const Score = z
  .strictObject({
    type: z.literal("score"),
    instructions,
    criteria: z
      .array(words, "must be an array of levels")
      .min(2, "must have at least two levels")
      .max(CRITERIA_MAX, `must have at most ${CRITERIA_MAX} levels`)
      .describe("Lowest first."),
  })
  .meta({ id: "ScoreQuestion", description: "A position on a scale of ordered levels." });

const Question = z.discriminatedUnion("type", [Noul, Choice, Score], {
  error: ({ code }) => (code === "invalid_union" ? "must be noul, choice or score" : "must be an object"),
});
export type Question = z.output<typeof Question>;

const KEY_WORDS = "must have a name of letters, digits, _, . and - only";

export const DecisionRequest = z
  .strictObject({
    model,
    state: z
      .union([z.string().min(1, "must not be empty"), z.record(z.string(), z.unknown())], {
        error: "must be a string or an object",
      })
      .describe("The text or data that the questions are about."),
    questions: z
      .record(z.string().regex(/^[A-Za-z0-9_.-]+$/), Question, {
        error: ({ code }) => (code === "invalid_key" ? KEY_WORDS : "must be an object with questions by name"),
      })
      .refine(
        (value) => sizeOf(value) >= 1 && sizeOf(value) <= QUESTIONS_MAX,
        `must have 1 to ${QUESTIONS_MAX} questions`,
      )
      .meta({ minProperties: 1, maxProperties: QUESTIONS_MAX, description: "Answers have the same names." }),
    images: optional(z.array(z.string()).max(IMAGES_MAX, `must have at most ${IMAGES_MAX} images`)).describe(
      "Data URLs of PNG, JPEG or WebP images. URLs are not fetched.",
    ),
    data_classes: wishFields.data_classes,
  })
  .meta({ id: "DecisionRequest" });
export type DecisionRequest = z.output<typeof DecisionRequest>;

const share = z.number().min(0).max(1);

const NoulAnswer = z
  .strictObject({ type: z.literal("noul"), noul: share.describe("The probability of yes.") })
  .meta({ id: "NoulAnswer" });
const ChoiceAnswer = z
  .strictObject({ type: z.literal("choice"), choice: z.string(), confidence: share })
  .meta({ id: "ChoiceAnswer" });
const ScoreAnswer = z
  .looseObject({
    type: z.literal("score"),
    score: z.number().describe("Weighted by the probabilities; the lowest level is 0."),
    probabilities: z.record(z.string(), share).describe("By level, starting at 0."),
    legend: z.record(z.string(), z.unknown()).nullish(),
    confidence: share.nullish(),
  })
  .meta({ id: "ScoreAnswer", description: "Provider-specific fields, unchanged." });

export const Decision = z
  .strictObject({
    model: z.string().describe("The model that served the request."),
    answers: z.record(z.string(), z.discriminatedUnion("type", [NoulAnswer, ChoiceAnswer, ScoreAnswer])),
    usage: z.strictObject({
      input_tokens: z.int(),
      output_tokens: z.int(),
      cost: z.number().optional().describe("Absent if the workspace's own key served the request."),
      currency: z.string().describe("Currency of the workspace."),
    }),
  })
  .meta({ id: "Decision" });
