import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { tryParseDocument } from "../../kit/json-document.ts";

/** Clocks differ, but not by more. */
const CLOCK_SKEW_SECONDS = 300;
const SUBJECT_CHARS_MAX = 255;

/** The claims of an ID token whose signature, issuer, audience and nonce are verified already. */
export function claimsOf(idToken: string): JsonObject | undefined {
  const claims = tryParseDocument(Buffer.from(idToken.split(".")[1] ?? "", "base64url").toString("utf8"));
  return isJsonObject(claims) ? claims : undefined;
}

/** Reasons to refuse verified claims: checks that OpenID Connect requires and the auth library does not make. */
export function claimsProblem(claims: JsonObject, clientId: string, nowMs: number): string | undefined {
  const { sub, exp, iat, aud, azp } = claims;
  if (!isSubject(sub)) return "it has no subject";
  // A wrong `exp` is refused with the signature; a missing one would be valid forever.
  if (typeof exp !== "number" || typeof iat !== "number") return "it has no times of issue and expiry";
  if (iat > nowMs / 1000 + CLOCK_SKEW_SECONDS) return "it was issued in the future";
  if (azp !== undefined && azp !== clientId) return "it was issued to another client";
  if (Array.isArray(aud) && aud.length > 1 && azp === undefined) return "it has several audiences";
  return undefined;
}

function isSubject(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= SUBJECT_CHARS_MAX;
}
