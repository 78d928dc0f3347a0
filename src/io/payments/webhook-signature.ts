import { createHmac, timingSafeEqual } from "node:crypto";
import type { PaymentWebhook } from "../../domain/billing/payment.ts";

/** Secrets in use at the same time, and the maximum age of a message. */
export type SignatureKeys = { readonly secrets: readonly string[]; readonly toleranceMs: number };

/** Bounds the work for one message. */
const SIGNATURES_MAX = 20;

const SIGNATURE = /^[0-9a-f]{64}$/;

/**
 * `t=<unix seconds>,v1=<hex>`: HMAC-SHA-256 over the time, a dot and the raw body. One valid signature by one of the secrets
 * is enough, so that secrets can be rotated while messages are in flight. Returns what is wrong; undefined: nothing.
 */
export function signatureProblem(headerName: string, webhook: PaymentWebhook, keys: SignatureKeys): string | undefined {
  const header = webhook.headers[headerName];
  if (typeof header !== "string") return `The message has no ${headerName} header.`;
  const parts = header.split(",").map((part) => part.trim().split("="));
  const times = parts.filter(([name]) => name === "t").map(([, value]) => value ?? "");
  const signatures = parts.filter(([name]) => name === "v1").map(([, value]) => value ?? "");
  const [time = ""] = times;
  if (times.length !== 1 || !/^\d{1,12}$/.test(time)) return `The ${headerName} header has no timestamp.`;
  const candidates = signatures.filter((signature) => SIGNATURE.test(signature)).slice(0, SIGNATURES_MAX);
  const expected = keys.secrets.map((secret) =>
    createHmac("sha256", secret).update(`${time}.`).update(webhook.body).digest(),
  );
  // All pairs are compared, so that timing reveals nothing.
  let isValid = false;
  for (const candidate of candidates)
    for (const digest of expected) isValid = timingSafeEqual(Buffer.from(candidate, "hex"), digest) || isValid;
  if (!isValid) return "The signature of the message is wrong.";
  const ageMs = Math.abs(webhook.nowMs - Number(time) * 1000);
  return ageMs <= keys.toleranceMs ? undefined : "The timestamp of the signature is too old, or in the future.";
}
