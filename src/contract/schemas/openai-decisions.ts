import { z } from "zod";
import { CRITERIA_MAX, QUESTIONS_MAX } from "./decisions.ts";
import { ModelName } from "./model-name.ts";

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

const words = z.string().regex(/\S/, "must not be empty");
const breakpoint = optional(z.strictObject({ mode: z.literal("explicit") }));

const TextPart = z.strictObject({
  type: z.literal("input_text"),
  text: z.string(),
  prompt_cache_breakpoint: breakpoint,
});
const ImagePart = z.strictObject({
  type: z.literal("input_image"),
  image_url: z.string().describe("A data URL of a PNG, JPEG or WebP image. URLs are not fetched."),
  detail: optional(z.literal("auto", "must be auto: images are not resized")),
  prompt_cache_breakpoint: breakpoint,
});
const JsonPart = z.strictObject({
  type: z.literal("input_json"),
  data: z.union([z.record(z.string(), z.unknown()), z.array(z.record(z.string(), z.unknown())).min(1)]),
});
const UserPart = z.discriminatedUnion("type", [TextPart, ImagePart, JsonPart]);
export type UserPart = z.output<typeof UserPart>;

const messageType = z.literal("message").optional();
const own = { id: optional(z.string()), status: optional(z.enum(["in_progress", "completed", "incomplete"])) };
const output = z.union([z.string(), z.array(z.discriminatedUnion("type", [TextPart, ImagePart]))]);

const Message = z.discriminatedUnion("role", [
  z.strictObject({
    type: messageType,
    role: z.literal("user"),
    content: z.union([z.string(), z.array(UserPart).min(1)]),
  }),
  z.strictObject({
    type: messageType,
    role: z.enum(["developer", "system"]),
    content: z.union([z.string(), z.array(TextPart)]),
  }),
  z.strictObject({
    type: messageType,
    role: z.literal("assistant"),
    phase: optional(z.enum(["commentary", "final_answer"])),
    content: z.union([
      z.string(),
      z.array(
        z.discriminatedUnion("type", [
          z.strictObject({ type: z.literal("output_text"), text: z.string() }),
          z.strictObject({ type: z.literal("refusal"), refusal: z.string() }),
        ]),
      ),
    ]),
  }),
]);

const Item = z.discriminatedUnion(
  "type",
  [
    Message,
    z.strictObject({
      type: z.literal("function_call"),
      call_id: z.string(),
      name: z.string(),
      arguments: z.string(),
      namespace: optional(z.string()),
      ...own,
    }),
    z.strictObject({
      type: z.literal("custom_tool_call"),
      call_id: z.string(),
      name: z.string(),
      input: z.string(),
      namespace: optional(z.string()),
      ...own,
    }),
    z.strictObject({
      type: z.enum(["function_call_output", "custom_tool_call_output"]),
      call_id: z.string(),
      output,
      ...own,
    }),
  ],
  { error: "must be a message, a tool call or a tool output" },
);
export type OpenaiDecisionItem = z.output<typeof Item>;

const instructions = z.union([
  words,
  z
    .array(
      z.discriminatedUnion(
        "type",
        [z.strictObject({ type: z.literal("input_text"), text: z.string() }), JsonPart],
        "must be text or JSON: send images in the input",
      ),
    )
    .min(1),
]);
export type OpenaiInstructions = z.output<typeof instructions>;
const name = optional(z.string().min(1).max(256));

const Question = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("predicate"), name, instructions }),
  z.strictObject({
    type: z.literal("choice"),
    name,
    instructions,
    choices: z
      .array(z.strictObject({ value: z.union([words, z.boolean()]), description: optional(z.string()) }))
      .min(2)
      .max(CRITERIA_MAX),
  }),
  z.strictObject({
    type: z.literal("score"),
    name,
    instructions,
    levels: z
      .array(z.strictObject({ label: words, description: optional(z.string()) }))
      .min(2)
      .max(CRITERIA_MAX),
  }),
]);
export type OpenaiQuestion = z.output<typeof Question>;

export const OpenaiDecisionRequest = z
  .strictObject({
    model: ModelName.describe("A model with the decisions surface in `svc_surfaces`."),
    input: z.union([z.string().min(1, "must not be empty"), z.array(Item).min(1)]),
    questions: z.array(Question).min(1).max(QUESTIONS_MAX),
    safety_identifier: optional(z.string().max(128)).describe("Accepted, but not sent to providers."),
    prompt_cache_key: optional(z.string()).describe("Accepted, but not sent to providers."),
    prompt_cache_options: optional(
      z.strictObject({ mode: optional(z.enum(["implicit", "explicit"])), ttl: optional(z.literal("30m")) }),
    ).describe("Accepted, but not sent to providers."),
  })
  .meta({ id: "OpenaiDecisionRequest" });
export type OpenaiDecisionRequest = z.output<typeof OpenaiDecisionRequest>;

const answerName = z.string().nullable();
const share = z.number().min(0).max(1);
const value = z.union([z.string(), z.boolean()]);

export const OpenaiDecision = z
  .looseObject({
    model: z.string(),
    answers: z
      .array(
        z.discriminatedUnion("type", [
          z.strictObject({ type: z.literal("predicate"), name: answerName, probability: share }),
          z.strictObject({
            type: z.literal("choice"),
            name: answerName,
            choice: value,
            confidence: share,
            probabilities: z.array(z.strictObject({ value, probability: share })),
          }),
          z.strictObject({
            type: z.literal("score"),
            name: answerName,
            score: z.number(),
            confidence: share,
            probabilities: z.array(z.strictObject({ value: z.int(), label: z.string(), probability: share })),
          }),
          z.strictObject({ type: z.literal("refusal"), name: answerName }),
        ]),
      )
      .describe("In the order of the questions."),
    usage: z.looseObject({
      input_tokens: z.int(),
      output_tokens: z.int(),
      total_tokens: z.int(),
      cost: z.number().optional(),
      currency: z.string().optional(),
    }),
  })
  .meta({ id: "OpenaiDecision" });
