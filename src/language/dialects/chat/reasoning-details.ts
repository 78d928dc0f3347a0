import type { ReasoningDetailWire } from "../../../contract/schemas/chat.ts";
import { isJsonObject } from "../../../kit/json.ts";
import type { ReasoningDetail, SignatureFamily } from "../../canon/parts.ts";
import { hasProviderPrefix } from "../responses/reasoning-signatures.ts";

/** Wire names of signature families, as used by other gateways. */
const FORMATS: Readonly<Record<SignatureFamily, string>> = {
  anthropic: "anthropic-claude-v1",
  google: "google-gemini-v1",
  openai: "openai-responses-v1",
};

function familyOf(format: unknown): SignatureFamily | undefined {
  const found = Object.entries(FORMATS).find(([, name]) => name === format);
  if (found === undefined) return undefined;
  const [family] = found;
  return family === "anthropic" || family === "google" || family === "openai" ? family : undefined;
}

export function encodeDetail(detail: ReasoningDetail, index: number): ReasoningDetailWire & { index: number } {
  if (detail.is === "encrypted") {
    return {
      type: "reasoning.encrypted",
      data: detail.signature.data,
      format: FORMATS[detail.signature.family],
      index,
    };
  }
  const signed =
    detail.signature === null ? {} : { signature: detail.signature.data, format: FORMATS[detail.signature.family] };
  return { type: "reasoning.text", text: detail.text, ...signed, index };
}

/** Undefined for a block that this gateway cannot have produced. */
export function decodeDetail(wire: ReasoningDetailWire): ReasoningDetail | undefined {
  const family = familyOf(wire.format);
  if (wire.type === "reasoning.encrypted") {
    return family === undefined || !wire.data ? undefined : { is: "encrypted", signature: { family, data: wire.data } };
  }
  const text = wire.text ?? wire.summary ?? "";
  const signature = family !== undefined && wire.signature ? { family, data: wire.signature } : null;
  return text === "" && signature === null ? undefined : { is: "readable", text, signature };
}

/**
 * Whether a block that a client sent back carries a signature that models of this creator cannot verify: another
 * family's, or one of a provider's responses API.
 */
export function isSignedElsewhere(wire: unknown, creator: string | null): boolean {
  if (!isJsonObject(wire)) return false;
  const family = familyOf(wire["format"]);
  const signatures = [wire["data"], wire["signature"]].filter(Boolean);
  if (family === undefined || signatures.length === 0) return false;
  return family !== creator || (family === "openai" && signatures.some(hasProviderPrefix));
}
