import type { JsonObject } from "../../../kit/json.ts";
import type { ReasoningDetail, ReasoningSignature, SignatureFamily } from "../../canon/parts.ts";

/**
 * What a provider needs back unchanged travels in `encrypted_content`, with the name of the family that can open it. A
 * caller cannot read it and sends it back; the gateway knows from the name where it may go.
 */
const SIGNATURE_PREFIXES: Readonly<Record<SignatureFamily, string>> = {
  anthropic: "gw1:anthropic:",
  google: "gw1:google:",
  openai: "gw1:openai:",
};
/** A block of reasoning of which nothing was readable. */
const ENCRYPTED_ONLY_PREFIXES: Readonly<Record<SignatureFamily, string>> = {
  anthropic: "gw1:anthropic.bare:",
  google: "gw1:google.bare:",
  openai: "gw1:openai.bare:",
};
/** The seal of the call that follows: the item of a call has no place of its own for it. */
const TOOL_CALL_PREFIXES: Readonly<Record<SignatureFamily, string>> = {
  anthropic: "gw1:anthropic.call:",
  google: "gw1:google.call:",
  openai: "gw1:openai.call:",
};

export function encodeSignature({ family, data }: ReasoningSignature): string {
  return SIGNATURE_PREFIXES[family] + data;
}

export function encodeDetail(detail: ReasoningDetail): string | undefined {
  if (detail.is === "encrypted") return ENCRYPTED_ONLY_PREFIXES[detail.signature.family] + detail.signature.data;
  return detail.signature === null ? undefined : encodeSignature(detail.signature);
}

export function encodeCallSignature({ family, data }: ReasoningSignature): string {
  return TOOL_CALL_PREFIXES[family] + data;
}

/** A reasoning item, read: a block of reasoning, the seal of the next call, or nothing that could be sent anywhere. */
type DecodedReasoningItem =
  | { readonly is: "detail"; readonly detail: ReasoningDetail }
  | { readonly is: "call_signature"; readonly signature: ReasoningSignature }
  | { readonly is: "nothing" };

/** A seal that this gateway did not make, or that belongs to an endpoint of the responses dialect, is left out. */
export function decodeReasoningItem(readable: string, carrier: string | null | undefined): DecodedReasoningItem {
  const call = carrier ? matchPrefix(TOOL_CALL_PREFIXES, carrier) : undefined;
  if (call !== undefined) return { is: "call_signature", signature: call };
  const bare = carrier ? matchPrefix(ENCRYPTED_ONLY_PREFIXES, carrier) : undefined;
  if (bare !== undefined) return { is: "detail", detail: { is: "encrypted", signature: bare } };
  const signature = (carrier ? matchPrefix(SIGNATURE_PREFIXES, carrier) : undefined) ?? null;
  if (readable === "" && signature === null) return { is: "nothing" };
  return { is: "detail", detail: { is: "readable", text: readable, signature } };
}

function matchPrefix(
  prefixes: Readonly<Record<SignatureFamily, string>>,
  text: string,
): ReasoningSignature | undefined {
  for (const family of ["anthropic", "google", "openai"] as const) {
    const prefix = prefixes[family];
    if (text.startsWith(prefix)) return { family, data: text.slice(prefix.length) };
  }
  return undefined;
}

/**
 * What an endpoint of this dialect has encrypted for callers of another one. It opens where it was made and nowhere else,
 * so the name of who made it stands before it.
 */
export function providerSignature(provider: string, encrypted: string): ReasoningSignature {
  return { family: "openai", data: `${provider}:${encrypted}` };
}

/** Whether the name of who made it stands before it: what servers of this dialect encrypt has no colon in it. */
export function hasProviderPrefix(data: unknown): boolean {
  return typeof data === "string" && data.includes(":");
}

/** What the provider itself wrote; undefined: another one made it, or the provider gives nothing sealed out. */
export function dataForProvider(provider: string | null, signature: ReasoningSignature | null): string | undefined {
  if (provider === null || signature?.family !== "openai" || !signature.data.startsWith(`${provider}:`))
    return undefined;
  return signature.data.slice(provider.length + 1);
}

/** Whether the caller sees what is sealed: when asked for, and when the response is stored and can be gone on from. */
export type SignatureVisibility = "shown" | "hidden";

const ENCRYPTED = "reasoning.encrypted_content";

export function signatureVisibility(request: JsonObject, echo: JsonObject): SignatureVisibility {
  const { include } = request;
  const isAsked = Array.isArray(include) && include.includes(ENCRYPTED);
  return isAsked || echo["store"] === true ? "shown" : "hidden";
}
