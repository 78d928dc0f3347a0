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
import { StringDecoder } from "node:string_decoder";
import { pieceEnd, runAtOnce, STEP_MAX, type WorkSteps } from "./work-steps.ts";

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
  return runAtOnce(sealSteps(key, [plain], associatedData));
}

/** The same for a long text. */
export const sealTextSteps = (key: Uint8Array, text: string, associatedData: string) =>
  sealSteps(key, utf8Pieces(text), associatedData);

function* sealSteps(key: Uint8Array, pieces: Iterable<Uint8Array>, associatedData: string): WorkSteps<Buffer> {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(associatedData));
  const sealed = [Buffer.of(SEAL_VERSION), nonce];
  for (const piece of pieces) {
    sealed.push(cipher.update(piece));
    yield { chars: piece.length, values: 0 };
  }
  sealed.push(cipher.final(), cipher.getAuthTag());
  return Buffer.concat(sealed);
}

function* utf8Pieces(text: string): Generator<Buffer> {
  for (let at = 0; at < text.length; ) {
    const end = pieceEnd(text, at, STEP_MAX.chars);
    yield Buffer.from(text.slice(at, end));
    at = end;
  }
}

/** Undefined for another key, other associated data, or changed bytes. */
export function unseal(key: Uint8Array, sealed: Uint8Array, associatedData: string): Buffer | undefined {
  const chunks = runAtOnce(unsealSteps(key, sealed, associatedData));
  return chunks && Buffer.concat(chunks);
}

/** The same for a long text. */
export function* unsealTextSteps(
  key: Uint8Array,
  sealed: Uint8Array,
  associatedData: string,
): WorkSteps<string | undefined> {
  const chunks = yield* unsealSteps(key, sealed, associatedData);
  if (chunks === undefined) return undefined;
  const decoder = new StringDecoder("utf8");
  const pieces: string[] = [];
  for (const chunk of chunks) {
    pieces.push(decoder.write(chunk));
    yield { chars: chunk.length, values: 0 };
  }
  return pieces.join("") + decoder.end();
}

function* unsealSteps(
  key: Uint8Array,
  sealed: Uint8Array,
  associatedData: string,
): WorkSteps<readonly Buffer[] | undefined> {
  const textAt = 1 + NONCE_BYTES;
  const tagAt = sealed.length - TAG_BYTES;
  if (tagAt < textAt || sealed[0] !== SEAL_VERSION) return undefined;
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(1, textAt), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(associatedData));
  decipher.setAuthTag(sealed.subarray(tagAt));
  const chunks: Buffer[] = [];
  for (let at = textAt; at < tagAt; at += STEP_MAX.chars) {
    const chunk = sealed.subarray(at, Math.min(at + STEP_MAX.chars, tagAt));
    chunks.push(decipher.update(chunk));
    yield { chars: chunk.length, values: 0 };
  }
  try {
    // Nothing of it may be used before the tag is checked.
    chunks.push(decipher.final());
    return chunks;
  } catch {
    return undefined;
  }
}
