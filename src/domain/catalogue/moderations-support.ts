import { z } from "zod";
import { count, text } from "./field-schemas.ts";

const MODERATION_INTERFACES = ["openai", "mistral", "decisions"] as const;

export const moderationsEntry = z.strictObject({
  interface: z
    .enum(MODERATION_INTERFACES)
    .describe("`decisions`: a yes-or-no question for each category, over the endpoint's decisions interface."),
  images_max: count.optional().describe("Maximum images per request. Absent: images are not supported."),
  inputs_max: count.optional().describe("Maximum texts per request. Absent: no stated limit; for `decisions`, 16."),
  categories: z
    .record(z.string().min(1).max(64), text)
    .optional()
    .describe("For `decisions`: the question of each category, true if it applies. Absent: seven common categories."),
  threshold: z
    .number()
    .gt(0)
    .lt(1)
    .optional()
    .describe("For `decisions`: the probability from which a category applies. Absent: 0.5."),
});
export type ModerationsEntry = z.infer<typeof moderationsEntry>;

/** Moderation support of an endpoint. */
export type ModerationSupport = {
  readonly interface: (typeof MODERATION_INTERFACES)[number];
  readonly imagesMax: number | null;
  readonly inputsMax: number | null;
  readonly categories: Readonly<Record<string, string>> | null;
  readonly threshold: number;
};

/** Each text is a request of its own to decision models. */
const DECISION_INPUTS_MAX = 16;
const THRESHOLD = 0.5;

export function compileModerationSupport(entry: ModerationsEntry): ModerationSupport {
  return {
    interface: entry.interface,
    imagesMax: entry.images_max ?? null,
    inputsMax: entry.inputs_max ?? (entry.interface === "decisions" ? DECISION_INPUTS_MAX : null),
    categories: entry.categories ?? null,
    threshold: entry.threshold ?? THRESHOLD,
  };
}
