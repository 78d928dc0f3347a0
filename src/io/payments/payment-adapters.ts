import type { PaymentAdapter } from "../../domain/billing/payment.ts";
import { signedWebhook, WEBHOOK_ADAPTER } from "./signed-webhook.ts";
import { STRIPE_ADAPTER, stripe } from "./stripe.ts";
import type { SignatureKeys } from "./webhook-signature.ts";

export const PAYMENT_ADAPTERS = [WEBHOOK_ADAPTER, STRIPE_ADAPTER] as const;
export type PaymentAdapterName = (typeof PAYMENT_ADAPTERS)[number];

/** Shorter secrets can be guessed. */
export const PAYMENT_SECRET_CHARS_MIN = 32;

const FACTORIES: Readonly<Record<PaymentAdapterName, (keys: SignatureKeys) => PaymentAdapter>> = {
  webhook: signedWebhook,
  stripe,
};

/** By name. Throws for an adapter without a secret of sufficient length. */
export function openPaymentAdapters(
  secrets: ReadonlyMap<PaymentAdapterName, readonly string[]>,
  toleranceMs: number,
): Map<string, PaymentAdapter> {
  const adapters = new Map<string, PaymentAdapter>();
  for (const [name, adapterSecrets] of secrets) {
    if (adapterSecrets.length === 0 || adapterSecrets.some((secret) => secret.length < PAYMENT_SECRET_CHARS_MIN))
      throw new RangeError(`the payment adapter ${name} has no signing secret`);
    adapters.set(name, FACTORIES[name]({ secrets: adapterSecrets, toleranceMs }));
  }
  return adapters;
}
