import type { ReportedCost } from "../canon/reply.ts";
import type { ModerationResult } from "./call.ts";

type RenderedModeration = {
  readonly id: string;
  readonly model: string;
  readonly tokens: number | undefined;
};

/** OpenAI's reply, with the categories of the model that judged. */
export function renderModeration(
  results: readonly ModerationResult[],
  { id, model, tokens }: RenderedModeration,
  shown: ReportedCost | undefined,
): string {
  return JSON.stringify({
    id,
    model,
    results: results.map(({ isFlagged, categories, scores, inputTypes }) => ({
      flagged: isFlagged,
      categories: Object.fromEntries(categories),
      category_scores: Object.fromEntries(scores),
      ...(inputTypes === undefined ? {} : { category_applied_input_types: Object.fromEntries(inputTypes) }),
    })),
    usage: { ...(tokens === undefined ? {} : { prompt_tokens: tokens, total_tokens: tokens }), ...shown },
  });
}
