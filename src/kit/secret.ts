import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hash,
  randomBytes,
  randomInt,
  timingSafeEqual,
} from "node:crypto";

export function sha256Hex(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** HMAC-SHA-256 of the concatenated parts: guesses cannot be tested without the secret. */
export function hmacSha256Hex(secret: string, ...parts: readonly (string | Uint8Array)[]): string {
  const hmac = createHmac("sha256", secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest("hex");
}

export function randomToken(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}

const FRACTION_STEPS = 2 ** 32;

/** From 0 up to 1, from the system's secure random source. */
export function unpredictableFraction(): number {
  return randomInt(FRACTION_STEPS) / FRACTION_STEPS;
}

/** Compares in constant time. */
export function secretsEqual(a: string, b: string): boolean {
  const left = createHash("sha256").update(a).digest();
  const right = createHash("sha256").update(b).digest();
  return timingSafeEqual(left, right);
}

/** Shorter values could be parts of ordinary words. */
const REDACTED_CHARS_MIN = 8;

export function redactSecrets(text: string, secrets: readonly string[]): string {
  const found = secrets.filter((secret) => secret.length >= REDACTED_CHARS_MIN && text.includes(secret));
  // The longest first: a secret may contain another one.
  return found
    .toSorted((a, b) => b.length - a.length)
    .reduce((clean, secret) => clean.replaceAll(secret, "[redacted]"), text);
}

const CIPHER = "aes-256-gcm";
const SEAL_VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM: version, random nonce, ciphertext, tag. `associatedData` is authenticated but not stored. */
export function seal(key: Uint8Array, plain: Uint8Array, associatedData: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(associatedData));
  const text = [cipher.update(plain), cipher.final()];
  return Buffer.concat([Buffer.of(SEAL_VERSION), nonce, ...text, cipher.getAuthTag()]);
}

/** Undefined for another key, other associated data, or changed bytes. */
export function unseal(key: Uint8Array, sealed: Uint8Array, associatedData: string): Buffer | undefined {
  const textAt = 1 + NONCE_BYTES;
  const tagAt = sealed.length - TAG_BYTES;
  if (tagAt < textAt || sealed[0] !== SEAL_VERSION) return undefined;
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(1, textAt), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(associatedData));
  decipher.setAuthTag(sealed.subarray(tagAt));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(textAt, tagAt)), decipher.final()]);
  } catch {
    return undefined;
  }
}
