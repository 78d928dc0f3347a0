import { createCipheriv, createDecipheriv, createHash, hash, randomBytes, timingSafeEqual } from "node:crypto";

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

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM; `bound` (workspace and column) is authenticated, so a row moved elsewhere does not open. */
export function seal(key: Buffer, plain: Buffer, bound: string): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  cipher.setAAD(Buffer.from(bound));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

/** The plain text, or undefined when the key, the place or the bytes are not the ones that were sealed. */
export function unseal(key: Buffer, sealed: Buffer, bound: string): Buffer | undefined {
  if (sealed.length < IV_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, IV_BYTES));
  decipher.setAAD(Buffer.from(bound));
  decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}
