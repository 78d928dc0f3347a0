import type { Route } from "../../route.ts";
import { EmbeddingList, EmbeddingsRequest } from "../../schemas/embeddings.ts";
import { CallHeaders } from "../../schemas/idempotency.ts";
import { CHARGED_FAULTS, CHAT_FAULTS } from "./faults.ts";

export const EMBEDDINGS_ROUTES: readonly Route[] = [
  {
    id: "createEmbedding",
    method: "POST",
    path: "/v1/embeddings",
    access: { by: "key", scope: "inference:embeddings" },
    intake: "json",
    counted: true,
    tag: "Embeddings",
    summary: "Create embeddings",
    description:
      "One vector per input, in the order of the inputs. If there are more inputs than an endpoint accepts per request, the gateway splits them; the response is complete or an error.",
    headers: CallHeaders,
    body: EmbeddingsRequest,
    servingHeaders: "embeddings",
    answer: { is: "json", status: 200, schema: EmbeddingList },
    faults: [...CHAT_FAULTS, "router_not_supported", ...CHARGED_FAULTS],
    example: {
      body: { model: "sandbox/embed", input: ["The first text", "The second text"] },
      answer: {
        object: "list",
        data: [
          { object: "embedding", index: 0, embedding: [0.5, -0.5] },
          { object: "embedding", index: 1, embedding: [0.25, 0.75] },
        ],
        model: "sandbox/embed",
        usage: { prompt_tokens: 8, total_tokens: 8, cost: 0.00000008, currency: "EUR" },
      },
    },
  },
];
