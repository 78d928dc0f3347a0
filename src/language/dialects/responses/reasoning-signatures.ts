import type { JsonObject } from "../../../kit/json.ts";
import type { ReasoningDetail, ReasoningSignature, SignatureFamily } from "../../canon/parts.ts";

/**
 * Signatures travel in `encrypted_content` with the name of their family. Callers return it unchanged, and the name
 * tells where it may be sent.
 */
const SIGNATURE_PREFIXES: Readonly<Record<SignatureFamily, string>> = {
  anthropic: "gw1:anthropic:",
  google: "gw1:google:",
  openai: "gw1:openai:",
};
/** Reasoning without readable text. */
const ENCRYPTED_ONLY_PREFIXES: Readonly<Record<SignatureFamily, string>> = {
  anthropic: "gw1:anthropic.bare:",
  google: "gw1:google.bare:",
  openai: "gw1:openai.bare:",
};
/** Signature of the next tool call, whose item has no field for it. */
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

type DecodedReasoningItem =
  | { readonly is: "detail"; readonly detail: ReasoningDetail }
  | { readonly is: "call_signature"; readonly signature: ReasoningSignature }
  | { readonly is: "nothing" };

/** Drops content that this gateway did not create or that belongs to a responses endpoint. */
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
 * Encrypted reasoning of a responses endpoint for callers of other dialects. Only its creator can decrypt it, so the
 * provider's name is prepended.
 */
export function providerSignature(provider: string, encrypted: string): ReasoningSignature {
  return { family: "openai", data: `${provider}:${encrypted}` };
}

/** Encrypted data of responses servers contains no colon. */
export function hasProviderPrefix(data: unknown): boolean {
  return typeof data === "string" && data.includes(":");
}

/** Undefined: created by another provider, or the provider encrypts nothing. */
export function dataForProvider(provider: string | null, signature: ReasoningSignature | null): string | undefined {
  if (provider === null || signature?.family !== "openai" || !signature.data.startsWith(`${provider}:`))
    return undefined;
  return signature.data.slice(provider.length + 1);
}

/** Shown if requested, or if the response is stored and can be continued. */
export type SignatureVisibility = "shown" | "hidden";

const ENCRYPTED = "reasoning.encrypted_content";

export function signatureVisibility(request: JsonObject, echo: JsonObject): SignatureVisibility {
  const { include } = request;
  const isRequested = Array.isArray(include) && include.includes(ENCRYPTED);
  return isRequested || echo["store"] === true ? "shown" : "hidden";
}
