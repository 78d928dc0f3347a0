import type { ReasoningSignature, SignatureFamily } from "../../canon/parts.ts";

/**
 * Seals of every family in the two fields that this dialect has for its own: a thinking block's `signature` and a redacted
 * block's `data`. A seal of the dialect's own family stands there as it is; of another one with a prefix that says whose
 * it is, and whether it belongs to the tool call that follows. Callers send both fields back unchanged, so nothing is lost.
 */
const PREFIX = /^svc:(block|call):(anthropic|google|openai):/;

/** What a seal is set on: the block of reasoning that carries it, or the tool call right behind it. */
export type SignatureCarrier = "block" | "call";
export type CarriedSignature = { readonly carrier: SignatureCarrier; readonly signature: ReasoningSignature };

export function encodeSignature({ family, data }: ReasoningSignature, place: SignatureCarrier): string {
  return family === "anthropic" && place === "block" && !PREFIX.test(data) ? data : `svc:${place}:${family}:${data}`;
}

export function decodeSignature(text: string): CarriedSignature {
  const match = PREFIX.exec(text);
  if (match === null) return { carrier: "block", signature: { family: "anthropic", data: text } };
  const [whole, place, family] = match;
  return {
    carrier: place === "call" ? "call" : "block",
    signature: { family: familyOf(family), data: text.slice(whole.length) },
  };
}

/** Written by the gateway for another family: the dialect's own providers cannot read it. */
export function isForeignSignature(text: unknown): boolean {
  return typeof text === "string" && PREFIX.test(text);
}

function familyOf(word: string | undefined): SignatureFamily {
  return word === "google" || word === "openai" ? word : "anthropic";
}
