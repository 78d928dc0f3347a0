import { createHmac } from "node:crypto";
import type { Called, TestGateway } from "./gateway.ts";

export const SECRET = "webhook-secret-0123456789abcdef0123";
export const NEW_SECRET = "webhook-secret-next-0123456789abcdef";
export const STRIPE_SECRET = "whsec_0123456789abcdef0123456789abcdef";

export const PAYMENT_ENV = {
  GATEWAY_PAYMENTS: "webhook,stripe",
  GATEWAY_PAYMENT_WEBHOOK_SECRETS: `${SECRET},${NEW_SECRET}`,
  GATEWAY_PAYMENT_STRIPE_SECRETS: STRIPE_SECRET,
};

/** A payment provider's signature, implemented independently: over the seconds, a dot and the text. */
export function signed(text: string, secret: string, atSeconds = Math.floor(Date.now() / 1000)): string {
  const mac = createHmac("sha256", secret).update(`${atSeconds}.${text}`, "utf8").digest("hex");
  return `t=${atSeconds},v1=${mac}`;
}

export type PaymentSignature = { readonly secret?: string; readonly signature?: string; readonly adapter?: string };

export function sendPayment(
  gateway: Pick<TestGateway, "call">,
  message: object | string,
  sent: PaymentSignature = {},
): Promise<Called> {
  const text = typeof message === "string" ? message : JSON.stringify(message);
  const { adapter = "webhook", secret = adapter === "stripe" ? STRIPE_SECRET : SECRET } = sent;
  const header = adapter === "stripe" ? "stripe-signature" : "payment-signature";
  const headers = sent.signature === "" ? {} : { [header]: sent.signature ?? signed(text, secret) };
  return gateway.call("", `/payments/${adapter}/webhook`, { method: "POST", body: text, headers });
}
