import { z } from "zod";
import { count, text } from "./fields.ts";

/** The wire formats that decisions are asked in; which one it is can never be seen from a path. */
export const DECISION_INTERFACES = ["system_one", "openai", "sglang", "logprobs"] as const;
export type DecisionInterface = (typeof DECISION_INTERFACES)[number];

/** Where images go: items of the state, parts of the input, or a field of their own. */
export const DECISION_IMAGES = ["state_items", "input_parts", "images_field", "image_objects"] as const;

export const decisionsEntry = z.strictObject({
  path: text.optional().describe("Where it is asked, below the base address. Absent: the interface's usual path."),
  envelope: z.literal(true).optional().describe("The answer stands in `result`, beside `success`."),
  images: z.enum(DECISION_IMAGES).optional().describe("How images are sent. Absent: it takes none."),
  questions_max: count.optional(),
  options_max: count.optional(),
  levels_max: count.optional(),
  decimals: count.optional().describe("How many decimals probabilities are rounded to. Absent: not known."),
  top_logprobs: count.optional().describe("How many alternatives the server names. Absent: 20."),
});

/** How an endpoint is asked for decisions, beside its interface. */
export type DecisionFacts = {
  readonly path: string | null;
  readonly envelope: boolean;
  readonly images: (typeof DECISION_IMAGES)[number] | null;
  readonly questionsMax: number | null;
  readonly optionsMax: number | null;
  readonly levelsMax: number | null;
  readonly decimals: number | null;
  readonly topLogprobs: number | null;
};

export function decisionFactsOf(entry: z.infer<typeof decisionsEntry> | undefined): DecisionFacts {
  return {
    path: entry?.path ?? null,
    envelope: entry?.envelope ?? false,
    images: entry?.images ?? null,
    questionsMax: entry?.questions_max ?? null,
    optionsMax: entry?.options_max ?? null,
    levelsMax: entry?.levels_max ?? null,
    decimals: entry?.decimals ?? null,
    topLogprobs: entry?.top_logprobs ?? null,
  };
}
