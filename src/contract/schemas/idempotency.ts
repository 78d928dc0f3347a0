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
      "A name of your own for this call, such as a UUID: printable ASCII. While a call with it runs, the same call is refused with 409; once it was charged, the same call is answered without asking a provider and without a second charge, for 24 hours as a rule (`Idempotent-Replayed: true`). With another body it is 422. After a call that was not charged the key is free again at once.",
    ),
});

/** Headers of a call that charges. */
export const CallHeaders = IdempotencyHeaders.extend({
  "X-Title": z
    .string()
    .optional()
    .describe("A name for the calling application, for the request log. It decides nothing."),
});

/** What is answered in the place of an answer that was charged before and is not kept. */
export const IdempotentReplay = z
  .object({
    id: z.string().describe("The first call: its `X-Svc-Request-Id`."),
    object: z.literal("idempotent_replay").optional(),
    type: z.literal("idempotent_replay").optional().describe("On messages, in the place of `object`."),
    status: z.literal(200),
    cost: z.string().describe("What the first call was charged."),
    currency: z.string(),
    request_url: z.string().describe("Where more of it is found."),
    message: z.string(),
  })
  .meta({ id: "IdempotentReplay" });
