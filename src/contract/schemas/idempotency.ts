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
