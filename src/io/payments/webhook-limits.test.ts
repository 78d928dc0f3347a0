import { expect, test } from "vitest";
import { STRIPE_SECRET, signed } from "../../../tests/support/payments.ts";
import type { PaymentAdapter } from "../../domain/billing/payment.ts";
import { signedWebhook } from "./signed-webhook.ts";
import { stripe } from "./stripe.ts";

const KEYS = { secrets: [STRIPE_SECRET], toleranceMs: 300_000 };
const AMOUNT = { amount: "50.00", currency: "EUR" };
const PAID = { id: "evt_1", type: "payment.succeeded", order: "ord_1", payment: "pay_1", ...AMOUNT };
const OTHER = { id: "evt_1", type: "customer.created", data: { object: {} } };

function read(adapter: PaymentAdapter, header: string, message: object, pad: string): string {
  const text = `${JSON.stringify(message).slice(0, -1)},"pad":${pad}}`;
  const headers = { [header]: signed(text, STRIPE_SECRET) };
  return adapter.parseWebhook({ headers, body: Buffer.from(text), nowMs: Date.now() }).is;
}

test.each([
  ["deep nesting", `${"[".repeat(200)}${"]".repeat(200)}`],
  ["many items", `[${"0,".repeat(40_000)}0]`],
])("SAFE-01 a signed webhook has the limits of documents: %s", (_name, pad) => {
  const [own, other] = [signedWebhook(KEYS), stripe(KEYS)];
  expect(read(own, "payment-signature", PAID, pad)).toBe("unreadable");
  expect(read(own, "payment-signature", PAID, "[[0]]")).toBe("event");
  expect(read(other, "stripe-signature", OTHER, pad)).toBe("unreadable");
  expect(read(other, "stripe-signature", OTHER, "[[0]]")).toBe("ignored");
});
