import { createHash, hash, randomBytes, timingSafeEqual } from "node:crypto";

/** SHA-256 in hex: the only form in which a key is kept. */
export function digestOf(secret: string): string {
  return hash("sha256", secret, "hex");
}

export function randomToken(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}

/** Compares without telling by its time how much was equal. */
export function sameSecret(a: string, b: string): boolean {
  const left = createHash("sha256").update(a).digest();
  const right = createHash("sha256").update(b).digest();
  return timingSafeEqual(left, right);
}

/** Shorter values are parts of ordinary words, and taking them out would only spoil a text. */
const REDACTED_CHARS_MIN = 8;

/** A text without the given secrets, wherever they stand in it. */
export function redacted(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= REDACTED_CHARS_MIN)
    .reduce((clean, secret) => clean.replaceAll(secret, "[redacted]"), text);
}
