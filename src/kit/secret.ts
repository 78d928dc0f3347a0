import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hash,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";

/** SHA-256 in hex: the only form in which a key is kept. */
export function sha256Hex(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** HMAC-SHA-256 in hex of all parts, one after the other: who does not have the secret cannot try out what they were. */
export function hmacSha256Hex(secret: string, ...parts: readonly (string | Uint8Array)[]): string {
  const hmac = createHmac("sha256", secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest("hex");
}

export function randomToken(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}

/** Compares without telling by its time how much was equal. */
export function secretsEqual(a: string, b: string): boolean {
  const left = createHash("sha256").update(a).digest();
  const right = createHash("sha256").update(b).digest();
  return timingSafeEqual(left, right);
}

/** Shorter values are parts of ordinary words, and taking them out would only spoil a text. */
const REDACTED_CHARS_MIN = 8;

/** A text without the given secrets, wherever they stand in it. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  const found = secrets.filter((secret) => secret.length >= REDACTED_CHARS_MIN && text.includes(secret));
  // The longest first: where one is a part of another, the rest of that one would stay.
  return found
    .toSorted((a, b) => b.length - a.length)
    .reduce((clean, secret) => clean.replaceAll(secret, "[redacted]"), text);
}

const CIPHER = "aes-256-gcm";
const SEAL_VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM: version, random nonce, text, tag. `about` is not kept; who opens it must say the same again. */
export function seal(key: Uint8Array, plain: Uint8Array, associatedData: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(associatedData));
  const text = [cipher.update(plain), cipher.final()];
  return Buffer.concat([Buffer.of(SEAL_VERSION), nonce, ...text, cipher.getAuthTag()]);
}

/** What was sealed; undefined with another key, another `about`, or when a single bit of it was changed. */
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
