import type { Route } from "../../route.ts";
import { CallHeaders } from "../../schemas/idempotency.ts";
import { Moderation, ModerationRequest } from "../../schemas/moderations.ts";
import { CHARGED_FAULTS, CHAT_FAULTS } from "./faults.ts";

export const MODERATIONS_ROUTES: readonly Route[] = [
  {
    id: "createModeration",
    method: "POST",
    path: "/v1/moderations",
    access: { by: "key", scope: "inference:moderations" },
    intake: "json",
    switchedBy: "moderations",
    counted: true,
    tag: "Moderations",
    summary: "Judge texts and images by category",
    description:
      "Accepts OpenAI's format for every moderation model, and for decision models whose catalogue entry has categories. A reply without a complete verdict is never returned.",
    headers: CallHeaders,
    body: ModerationRequest,
    servingHeaders: "embeddings",
    answer: { is: "json", status: 200, schema: Moderation },
    faults: [
      ...CHAT_FAULTS,
      "router_not_supported",
      "image_input_not_supported",
      "decision_refused",
      "moderations_not_enabled",
      ...CHARGED_FAULTS,
    ],
    example: {
      body: { model: "sandbox/moderate", input: "I will hurt you." },
      answer: {
        id: "req_0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
        model: "sandbox/moderate",
        results: [
          {
            flagged: true,
            categories: { harassment: true, violence: true, sexual: false },
            category_scores: { harassment: 0.91, violence: 0.87, sexual: 0.01 },
            category_applied_input_types: { harassment: ["text"], violence: ["text"], sexual: ["text"] },
          },
        ],
        usage: { prompt_tokens: 5, total_tokens: 5, cost: 0.000001, currency: "EUR" },
      },
    },
  },
];
