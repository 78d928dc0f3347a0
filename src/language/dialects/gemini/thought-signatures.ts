import { isJsonObject, tryParseJson } from "../../../kit/json.ts";
import type { ReasoningDetail, ReasoningSignature, SignatureFamily } from "../../canon/parts.ts";

/**
 * `thoughtSignature` is one field of bytes on a part. Google's own signatures are in it as they are. Reasoning of other
 * providers is sealed in it with its family, so that a caller who returns the part returns the reasoning.
 */
type SignedPart = {
  /** Reasoning blocks that precede the part. */
  readonly details: readonly ReasoningDetail[];
  /** The signature of the part's own function call. */
  readonly call?: ReasoningSignature;
};

const MARK = "svc:1:";
/** The mark fills whole base64 groups, so that every sealed value begins with this in both alphabets. */
const MARK_BASE64 = Buffer.from(MARK).toString("base64");

/** Documented placeholder of clients that lost a signature, plain or as base64. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(
  ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"].flatMap((word) => [
    word,
    Buffer.from(word).toString("base64"),
    Buffer.from(word).toString("base64url"),
  ]),
);

export function encodeThoughtSignature({ details, call }: SignedPart): string | undefined {
  const [first] = details;
  if (first === undefined) {
    if (call === undefined) return undefined;
    if (isPlainGoogle(call)) return call.data;
  } else if (details.length === 1 && call === undefined && first.is === "encrypted" && isPlainGoogle(first.signature))
    return first.signature.data;
  return Buffer.from(MARK + JSON.stringify({ details, call })).toString("base64");
}

/** Undefined: a placeholder, or sealed bytes that were damaged. */
export function decodeThoughtSignature(text: string): SignedPart | "google" | undefined {
  if (PLACEHOLDERS.has(text)) return undefined;
  if (!isSealedSignature(text)) return "google";
  const sealed = tryParseJson(Buffer.from(text, "base64").toString().slice(MARK.length));
  if (!isJsonObject(sealed)) return undefined;
  const call = signatureIn(sealed["call"]);
  const details = Array.isArray(sealed["details"]) ? sealed["details"].flatMap(detailIn) : [];
  return { details, ...(call === undefined ? {} : { call }) };
}

/** Sealed by the gateway: no provider can read it. */
export function isSealedSignature(value: unknown): boolean {
  return typeof value === "string" && value.startsWith(MARK_BASE64);
}

/** Cheap test for a body that may have sealed signatures. */
export function mayHaveSealed(text: string): boolean {
  return text.includes(MARK_BASE64);
}

function isPlainGoogle({ family, data }: ReasoningSignature): boolean {
  return family === "google" && !isSealedSignature(data);
}

function detailIn(value: unknown): ReasoningDetail[] {
  if (!isJsonObject(value)) return [];
  const signature = signatureIn(value["signature"]);
  if (value["is"] === "encrypted") return signature === undefined ? [] : [{ is: "encrypted", signature }];
  const { text } = value;
  return typeof text === "string" ? [{ is: "readable", text, signature: signature ?? null }] : [];
}

const FAMILIES: readonly SignatureFamily[] = ["anthropic", "google", "openai"];

function signatureIn(value: unknown): ReasoningSignature | undefined {
  if (!isJsonObject(value)) return undefined;
  const family = FAMILIES.find((known) => known === value["family"]);
  const { data } = value;
  return family !== undefined && typeof data === "string" ? { family, data } : undefined;
}
