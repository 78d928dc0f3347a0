import { z } from "zod";
import type { PaymentAdapter, PaymentEvent } from "../../domain/billing/payment.ts";
import { tryParseDocument } from "../../kit/json-document.ts";
import { parseNanos } from "../../kit/money.ts";
import { type SignatureKeys, signatureProblem } from "./webhook-signature.ts";

export const WEBHOOK_ADAPTER = "webhook";
const HEADER = "payment-signature";

const EVENT_KINDS = {
  "payment.succeeded": "paid",
  "payment.refunded": "refunded",
  "payment.disputed": "disputed",
} as const satisfies Record<string, PaymentEvent["kind"]>;

const Identifier = z.string().regex(/^[A-Za-z0-9._:-]{1,128}$/);

const WebhookMessage = z.object({
  id: Identifier,
  type: z.enum(["payment.succeeded", "payment.refunded", "payment.disputed"]),
  order: Identifier,
  payment: Identifier.nullish(),
  amount: z.string().regex(/^\d{1,15}(?:\.\d{1,9})?$/),
  currency: z.string().regex(/^[A-Z]{3}$/),
});

const WebhookType = z.object({ type: z.string() });

/** The gateway's own webhook format, for a shop, an accounting system or a bridge to another provider. */
export function signedWebhook(keys: SignatureKeys): PaymentAdapter {
  return {
    name: WEBHOOK_ADAPTER,
    unpayableReason: () => undefined,
    parseWebhook(webhook) {
      const problem = signatureProblem(HEADER, webhook, keys);
      if (problem !== undefined) return { is: "refused", reason: problem };
      const value = tryParseDocument(webhook.body);
      const kind = WebhookType.safeParse(value);
      if (kind.success && !Object.hasOwn(EVENT_KINDS, kind.data.type))
        return { is: "ignored", reason: "The event does not move money." };
      const message = WebhookMessage.safeParse(value);
      const nanos = message.success ? parseNanos(message.data.amount) : undefined;
      if (!message.success || nanos === undefined || nanos <= 0n)
        return {
          is: "unreadable",
          reason: "The message must have id, type, order, amount and currency; see the guide on wallets.",
        };
      const { id, type, order, payment, currency } = message.data;
      const event: PaymentEvent = {
        id,
        kind: EVENT_KINDS[type],
        order: { by: "id", id: order },
        paymentId: payment ?? null,
        disputeId: null,
        currency,
        nanos,
        amountScope: "event",
      };
      return { is: "event", event };
    },
  };
}
