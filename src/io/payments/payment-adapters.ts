import type { PaymentAdapter } from "../../domain/billing/payment.ts";
import { signedWebhook, WEBHOOK_ADAPTER } from "./signed-webhook.ts";
import { STRIPE_ADAPTER, stripe } from "./stripe.ts";
import type { SignatureKeys } from "./webhook-signature.ts";

export const PAYMENT_ADAPTERS = [WEBHOOK_ADAPTER, STRIPE_ADAPTER] as const;
export type PaymentAdapterName = (typeof PAYMENT_ADAPTERS)[number];

/** Shorter ones can be guessed. */
export const PAYMENT_SECRET_CHARS_MIN = 32;

const FACTORIES: Readonly<Record<PaymentAdapterName, (proof: SignatureKeys) => PaymentAdapter>> = {
  webhook: signedWebhook,
  stripe,
};

/** Adapters by name. One without a secret, or with one that proves nothing, does not come to be. */
export function openPaymentAdapters(
  secrets: ReadonlyMap<PaymentAdapterName, readonly string[]>,
  toleranceMs: number,
): Map<string, PaymentAdapter> {
  const adapters = new Map<string, PaymentAdapter>();
  for (const [name, known] of secrets) {
    if (known.length === 0 || known.some((secret) => secret.length < PAYMENT_SECRET_CHARS_MIN))
      throw new RangeError(`the payment adapter ${name} has no secret that could prove anything`);
    adapters.set(name, FACTORIES[name]({ secrets: known, toleranceMs }));
  }
  return adapters;
}
