import type { JsonObject } from "../../../kit/json.ts";
import type { ReasoningDetail, ReasoningSeal, SealFamily } from "../../canon/parts.ts";

/**
 * What a provider needs back unchanged travels in `encrypted_content`, with the name of the family that can open it. A
 * caller cannot read it and sends it back; the gateway knows from the name where it may go.
 */
const FAMILIES: Readonly<Record<SealFamily, string>> = {
  anthropic: "gw1:anthropic:",
  google: "gw1:google:",
  openai: "gw1:openai:",
};
/** A block of reasoning of which nothing was readable. */
const BARE: Readonly<Record<SealFamily, string>> = {
  anthropic: "gw1:anthropic.bare:",
  google: "gw1:google.bare:",
  openai: "gw1:openai.bare:",
};
/** The seal of the call that follows: the item of a call has no place of its own for it. */
const CALLS: Readonly<Record<SealFamily, string>> = {
  anthropic: "gw1:anthropic.call:",
  google: "gw1:google.call:",
  openai: "gw1:openai.call:",
};

export function encodeSeal({ family, data }: ReasoningSeal): string {
  return FAMILIES[family] + data;
}

export function encodeDetail(detail: ReasoningDetail): string | undefined {
  if (detail.is === "sealed") return BARE[detail.seal.family] + detail.seal.data;
  return detail.seal === null ? undefined : encodeSeal(detail.seal);
}

export function encodeCallSeal({ family, data }: ReasoningSeal): string {
  return CALLS[family] + data;
}

/** A reasoning item, read: a block of reasoning, the seal of the next call, or nothing that could be sent anywhere. */
type SealedItem =
  | { readonly is: "detail"; readonly detail: ReasoningDetail }
  | { readonly is: "call_seal"; readonly seal: ReasoningSeal }
  | { readonly is: "nothing" };

/** A seal that this gateway did not make, or that belongs to an endpoint of the responses dialect, is left out. */
export function readSealed(readable: string, carrier: string | null | undefined): SealedItem {
  const call = carrier ? among(CALLS, carrier) : undefined;
  if (call !== undefined) return { is: "call_seal", seal: call };
  const bare = carrier ? among(BARE, carrier) : undefined;
  if (bare !== undefined) return { is: "detail", detail: { is: "sealed", seal: bare } };
  const seal = (carrier ? among(FAMILIES, carrier) : undefined) ?? null;
  if (readable === "" && seal === null) return { is: "nothing" };
  return { is: "detail", detail: { is: "open", text: readable, seal } };
}

function among(prefixes: Readonly<Record<SealFamily, string>>, text: string): ReasoningSeal | undefined {
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
export function providerSignature(provider: string, encrypted: string): ReasoningSeal {
  return { family: "openai", data: `${provider}:${encrypted}` };
}

/** Whether the name of who made it stands before it: what servers of this dialect encrypt has no colon in it. */
export function hasProviderPrefix(data: unknown): boolean {
  return typeof data === "string" && data.includes(":");
}

/** What the provider itself wrote; undefined: another one made it, or the provider gives nothing sealed out. */
export function openedBy(provider: string | null, seal: ReasoningSeal | null): string | undefined {
  if (provider === null || seal?.family !== "openai" || !seal.data.startsWith(`${provider}:`)) return undefined;
  return seal.data.slice(provider.length + 1);
}

/** Whether the caller sees what is sealed: when asked for, and when the response is stored and can be gone on from. */
export type Seals = "shown" | "hidden";

const ENCRYPTED = "reasoning.encrypted_content";

export function signatureVisibility(request: JsonObject, echo: JsonObject): Seals {
  const { include } = request;
  const isAsked = Array.isArray(include) && include.includes(ENCRYPTED);
  return isAsked || echo["store"] === true ? "shown" : "hidden";
}
