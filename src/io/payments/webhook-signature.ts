import { createHmac, timingSafeEqual } from "node:crypto";
import type { PaymentWebhook } from "../../domain/billing/payment.ts";

/** What proves a message: secrets that are in use at the same time, and how old a message may be. */
export type SignatureKeys = { readonly secrets: readonly string[]; readonly toleranceMs: number };

/** Many versions and secrets at once, but no list to keep us busy. */
const SIGNATURES_MAX = 20;

const SIGNATURE = /^[0-9a-f]{64}$/;

/**
 * `t=<unix seconds>,v1=<hex>`: HMAC-SHA-256 over the time, a dot and the body as it came. One signature of several by
 * one secret of several is enough, so that secrets can be changed while messages are on their way. What is wrong;
 * undefined: nothing.
 */
export function signatureProblem(
  headerName: string,
  incoming: PaymentWebhook,
  proof: SignatureKeys,
): string | undefined {
  const header = incoming.headers[headerName];
  if (typeof header !== "string") return `The message has no ${headerName} header.`;
  const parts = header.split(",").map((part) => part.trim().split("="));
  const times = parts.filter(([name]) => name === "t").map(([, value]) => value ?? "");
  const signatures = parts.filter(([name]) => name === "v1").map(([, value]) => value ?? "");
  const [time = ""] = times;
  if (times.length !== 1 || !/^\d{1,12}$/.test(time)) return `The ${headerName} header has no time.`;
  const given = signatures.filter((one) => SIGNATURE.test(one)).slice(0, SIGNATURES_MAX);
  const expected = proof.secrets.map((secret) =>
    createHmac("sha256", secret).update(`${time}.`).update(incoming.body).digest(),
  );
  // All are compared, whichever fits: the time taken says nothing.
  let isProven = false;
  for (const one of given)
    for (const other of expected) isProven = timingSafeEqual(Buffer.from(one, "hex"), other) || isProven;
  if (!isProven) return "The signature of the message does not fit.";
  const ageMs = Math.abs(incoming.nowMs - Number(time) * 1000);
  return ageMs <= proof.toleranceMs ? undefined : "The message was signed too long ago, or in the future.";
}
