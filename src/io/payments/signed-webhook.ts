import { z } from "zod";
import type { PaymentAdapter, PaymentEvent } from "../../domain/billing/payment.ts";
import { tryParseJson } from "../../kit/json.ts";
import { parseNanos } from "../../kit/money.ts";
import { type SignatureKeys, signatureProblem } from "./webhook-signature.ts";

export const WEBHOOK_ADAPTER = "webhook";
const HEADER = "payment-signature";

const WHAT = {
  "payment.succeeded": "paid",
  "payment.refunded": "refunded",
  "payment.disputed": "disputed",
} as const satisfies Record<string, PaymentEvent["kind"]>;

const name = z.string().regex(/^[A-Za-z0-9._:-]{1,128}$/);

const Message = z.object({
  id: name,
  type: z.enum(["payment.succeeded", "payment.refunded", "payment.disputed"]),
  order: name,
  payment: name.nullish(),
  amount: z.string().regex(/^\d{1,15}(?:\.\d{1,9})?$/),
  currency: z.string().regex(/^[A-Z]{3}$/),
});

const Kind = z.object({ type: z.string() });

/** A form of our own, for whoever can sign: a shop, an accounting system, a small program beside another provider. */
export function signedWebhook(proof: SignatureKeys): PaymentAdapter {
  return {
    name: WEBHOOK_ADAPTER,
    unpayableReason: () => undefined,
    parseWebhook(incoming) {
      const problem = signatureProblem(HEADER, incoming, proof);
      if (problem !== undefined) return { is: "refused", reason: problem };
      const value = tryParseJson(incoming.body);
      const kind = Kind.safeParse(value);
      if (kind.success && !Object.hasOwn(WHAT, kind.data.type))
        return { is: "ignored", reason: "It is about nothing that moves money." };
      const message = Message.safeParse(value);
      const nanos = message.success ? parseNanos(message.data.amount) : undefined;
      if (!message.success || nanos === undefined || nanos <= 0n)
        return { is: "unreadable", reason: "Send id, type, order, amount and currency; see the guide on wallets." };
      const { id, type, order, payment, currency } = message.data;
      const event: PaymentEvent = {
        id,
        kind: WHAT[type],
        order: { by: "id", id: order },
        paymentId: payment ?? null,
        disputeId: null,
        currency,
        nanos,
        amountIs: "of_this",
      };
      return { is: "event", event };
    },
  };
}
