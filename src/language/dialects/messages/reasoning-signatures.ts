import type { ReasoningSignature, SignatureFamily } from "../../canon/parts.ts";

/**
 * Signatures of all families share the two fields of this dialect: `signature` of a thinking block and `data` of a
 * redacted block. Foreign signatures get a prefix with their family and whether they belong to the next tool call.
 * Callers return both fields unchanged.
 */
const PREFIX = /^svc:(block|call):(anthropic|google|openai):/;

type SignatureCarrier = "block" | "call";
type CarriedSignature = { readonly carrier: SignatureCarrier; readonly signature: ReasoningSignature };

export function encodeSignature({ family, data }: ReasoningSignature, carrier: SignatureCarrier): string {
  return family === "anthropic" && carrier === "block" && !PREFIX.test(data)
    ? data
    : `svc:${carrier}:${family}:${data}`;
}

export function decodeSignature(text: string): CarriedSignature {
  const match = PREFIX.exec(text);
  if (match === null) return { carrier: "block", signature: { family: "anthropic", data: text } };
  const [whole, carrier, family] = match;
  return {
    carrier: carrier === "call" ? "call" : "block",
    signature: { family: familyOf(family), data: text.slice(whole.length) },
  };
}

export function isForeignSignature(text: unknown): boolean {
  return typeof text === "string" && PREFIX.test(text);
}

function familyOf(word: string | undefined): SignatureFamily {
  return word === "google" || word === "openai" ? word : "anthropic";
}
