import { z } from "zod";
import type { Route } from "../route.ts";
import { PaymentReceived } from "../schemas/manage-money.ts";

/** Far more than a message about one payment is. */
const WEBHOOK_MAX_BYTES = 256 * 1024;

export const PAYMENT_ROUTES: readonly Route[] = [
  {
    id: "receivePayment",
    method: "POST",
    path: "/payments/{adapter}/webhook",
    access: { by: "anyone" },
    intake: "json",
    bodyMaxBytes: WEBHOOK_MAX_BYTES,
    counted: false,
    tag: "Payments",
    summary: "Receive a message of a payment provider",
    description:
      "For payment providers, not for callers. Messages must be signed with a secret of the adapter. 2xx: processed, or nothing to do. 4xx and 5xx: no money was moved; after 409 the message can be sent again. See the guide on wallets.",
    body: z.looseObject({}).meta({ id: "PaymentMessage" }),
    answer: { is: "json", status: 200, schema: PaymentReceived },
    faults: ["not_allowed", "conflict", "service_unavailable"],
    example: {
      body: {
        id: "evt_1",
        type: "payment.succeeded",
        order: "ord_019a864f0b2c7f3a8e21d04c5b6a798b",
        payment: "pay_1",
        amount: "50.00",
        currency: "EUR",
      },
      answer: { received: true, outcome: "credited" },
    },
  },
];
