import { z } from "zod";
import type { Quirk } from "../../language/canon/quirks.ts";
import type { ReasoningControl } from "../../language/canon/reasoning-control.ts";
import { count, text } from "./field-schemas.ts";

/** Wire formats for decisions; a path does not reveal which one a server uses. */
export const DECISION_INTERFACES = ["system_one", "openai", "sglang", "logprobs"] as const;
export type DecisionInterface = (typeof DECISION_INTERFACES)[number];

/** How images are sent: as items of the state, parts of the input, or a separate field. */
export const DECISION_IMAGES = ["state_items", "input_parts", "images_field", "image_objects"] as const;

export const decisionsEntry = z.strictObject({
  path: text
    .optional()
    .describe(
      "Path below the base URL. Absent: the interface's default. With {model} in it, the body carries only the last segment of the model name.",
    ),
  envelope: z.literal(true).optional().describe("The response is wrapped in `result`, beside `success`."),
  images: z
    .enum(DECISION_IMAGES)
    .optional()
    .describe(
      "How images are sent. Absent: images are not supported. With log-probabilities the feature image_input decides.",
    ),
  images_max: count.optional().describe("Absent: as many as a request may have."),
  image_tiles_max: count.optional().describe("Maximum number of 32-pixel tiles per image."),
  body_max_bytes: count.optional().describe("Maximum request size."),
  questions_max: count.optional(),
  options_max: count.optional(),
  levels_max: count.optional(),
  decimals: count.optional().describe("Decimals that probabilities are rounded to. Absent: unknown."),
  top_logprobs: count.optional().describe("Maximum number of alternatives that the server returns. Absent: 20."),
  logprobs: z
    .enum(["flag", "count"])
    .optional()
    .describe("How log-probabilities are requested: by a flag and a number, or by a number alone. Absent: flag."),
  thinking_off: z
    .enum(["enable_thinking", "chat_template_kwargs"])
    .optional()
    .describe("How reasoning is disabled. Absent: the dialect's default."),
});

/** Decision support of an endpoint, besides its wire format. */
export type DecisionSupport = {
  readonly path: string | null;
  readonly hasEnvelope: boolean;
  readonly images: (typeof DECISION_IMAGES)[number] | null;
  readonly imagesMax: number | null;
  readonly imageTilesMax: number | null;
  readonly bodyMaxBytes: number | null;
  readonly questionsMax: number | null;
  readonly optionsMax: number | null;
  readonly levelsMax: number | null;
  readonly decimals: number | null;
  readonly topLogprobs: number | null;
  readonly logprobs: "flag" | "count";
  readonly thinkingOff: "enable_thinking" | "chat_template_kwargs" | null;
};

/** With log-probabilities, images are part of the chat request if the endpoint accepts them. */
export function compileDecisionSupport(
  entry: z.infer<typeof decisionsEntry> | undefined,
  chat: "reads_images" | "no_images",
): DecisionSupport {
  return {
    path: entry?.path ?? null,
    hasEnvelope: entry?.envelope ?? false,
    images: chat === "reads_images" ? "input_parts" : (entry?.images ?? null),
    imagesMax: entry?.images_max ?? null,
    imageTilesMax: entry?.image_tiles_max ?? null,
    bodyMaxBytes: entry?.body_max_bytes ?? null,
    questionsMax: entry?.questions_max ?? null,
    optionsMax: entry?.options_max ?? null,
    levelsMax: entry?.levels_max ?? null,
    decimals: entry?.decimals ?? null,
    topLogprobs: entry?.top_logprobs ?? null,
    logprobs: entry?.logprobs ?? "flag",
    thinkingOff: entry?.thinking_off ?? null,
  };
}

/** A model that always reasons first has no answer in its first token, and other dialects return no alternatives. */
export function canUseLogprobs(
  entry: {
    readonly decisions_interface?: DecisionInterface | undefined;
    readonly thinking?: ReasoningControl | undefined;
  },
  dialect: string | undefined,
  quirks: readonly Quirk[],
): boolean {
  if (entry.decisions_interface !== "logprobs") return true;
  if (entry.thinking === "always" || quirks.includes("thinks-always")) return false;
  return dialect === "D1" || dialect === "D3";
}
