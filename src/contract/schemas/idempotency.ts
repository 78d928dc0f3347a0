import { z } from "zod";

export const IDEMPOTENCY_KEY_CHARS_MAX = 255;

/** Of a call that charges: the caller's own name for it. */
export const IdempotencyHeaders = z.strictObject({
  "Idempotency-Key": z
    .string()
    .min(1)
    .max(IDEMPOTENCY_KEY_CHARS_MAX)
    .regex(/^[\x20-\x7e]*$/)
    .optional()
    .describe(
      "A unique id of your choice for this request, such as a UUID, in printable ASCII. While the request runs, a repetition gets 409. Once it was charged, a repetition is answered without calling a provider and without a second charge, normally for 24 hours (`Idempotent-Replayed: true`). With a different body it gets 422. A request that was not charged frees the key immediately.",
    ),
});

/** Headers of a call that charges. */
export const CallHeaders = IdempotencyHeaders.extend({
  "X-Title": z
    .string()
    .optional()
    .describe("Name of the calling application, for the request log. It does not affect routing."),
});

/** What is answered in the place of an answer that was charged before and is not kept. */
export const IdempotentReplay = z
  .object({
    id: z.string().describe("`X-Svc-Request-Id` of the first request."),
    object: z.literal("idempotent_replay").optional(),
    type: z.literal("idempotent_replay").optional().describe("Instead of `object` on the messages surface."),
    status: z.literal(200),
    cost: z.string().describe("Charge of the first request."),
    currency: z.string(),
    request_url: z.string().describe("Where to find details."),
    message: z.string(),
  })
  .meta({ id: "IdempotentReplay" });
