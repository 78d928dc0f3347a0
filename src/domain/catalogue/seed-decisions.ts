import type { z } from "zod";
import type { DecisionInterface, decisionsEntry } from "./decisions-support.ts";

type DecisionsEntry = z.infer<typeof decisionsEntry>;

/** How decisions are asked at the providers of a seven-file catalogue, which has a place for the interface alone. */
const DECISIONS_BY_PROVIDER: Readonly<Record<string, DecisionsEntry>> = {
  cloudflare: {
    path: "/run/{model}",
    envelope: true,
    images: "images_field",
    images_max: 4,
    body_max_bytes: 500_000,
    questions_max: 64,
    options_max: 255,
    levels_max: 10,
    decimals: 4,
  },
  fireworks: { top_logprobs: 5 },
  perplexity: {
    path: "/decisions",
    images: "state_items",
    images_max: 8,
    image_tiles_max: 2048,
    questions_max: 128,
    options_max: 255,
    levels_max: 10,
  },
  together: { logprobs: "count" },
  typesafe: { options_max: 255, levels_max: 10, decimals: 2 },
};

/** Models that differ from what their provider says of all. */
const DECISIONS_BY_MODEL: Readonly<Record<string, DecisionsEntry>> = {
  "openai openai/gpt-6-luna-decisions": {
    images: "input_parts",
    questions_max: 400,
    options_max: 255,
    levels_max: 10,
    decimals: 2,
  },
};

/** Models that cannot be told not to think, so that their first token is no answer. */
const ALWAYS_REASONING_MODELS: ReadonlySet<string> = new Set(["google/gemini-2.5-pro"]);

export function seedDecisionsInterface(
  model: string,
  said: DecisionInterface | undefined,
): DecisionInterface | undefined {
  return said === "logprobs" && ALWAYS_REASONING_MODELS.has(model) ? undefined : said;
}

export function seedProviderDecisions(provider: string): DecisionsEntry | undefined {
  return DECISIONS_BY_PROVIDER[provider];
}

export function seedEndpointDecisions(provider: string, model: string): DecisionsEntry | undefined {
  return DECISIONS_BY_MODEL[`${provider} ${model}`];
}
