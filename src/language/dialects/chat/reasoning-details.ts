import type { ReasoningDetailWire } from "../../../contract/schemas/chat.ts";
import { isJsonObject } from "../../../kit/json.ts";
import type { ReasoningDetail, SignatureFamily } from "../../canon/parts.ts";
import { hasProviderPrefix } from "../responses/reasoning-signatures.ts";

/** Names of the seals' families on the wire, as other gateways write them. */
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

/** A block of reasoning as a client gets it and sends it back. */
export function encodeDetail(detail: ReasoningDetail, index: number): ReasoningDetailWire & { index: number } {
  if (detail.is === "sealed") {
    return { type: "reasoning.encrypted", data: detail.seal.data, format: FORMATS[detail.seal.family], index };
  }
  const seal = detail.seal === null ? {} : { signature: detail.seal.data, format: FORMATS[detail.seal.family] };
  return { type: "reasoning.text", text: detail.text, ...seal, index };
}

/** Undefined for a block that nobody here could have made. */
export function decodeDetail(wire: ReasoningDetailWire): ReasoningDetail | undefined {
  const family = familyOf(wire.format);
  if (wire.type === "reasoning.encrypted") {
    return family === undefined || !wire.data ? undefined : { is: "sealed", seal: { family, data: wire.data } };
  }
  const text = wire.text ?? wire.summary ?? "";
  const seal = family !== undefined && wire.signature ? { family, data: wire.signature } : null;
  return text === "" && seal === null ? undefined : { is: "open", text, seal };
}

/**
 * Whether the block, as a client sent it, is sealed and a model of that creator cannot open it: another family made it, or
 * a provider's responses API, which alone can.
 */
export function isSignedElsewhere(wire: unknown, creator: string | null): boolean {
  if (!isJsonObject(wire)) return false;
  const family = familyOf(wire["format"]);
  const seals = [wire["data"], wire["signature"]].filter(Boolean);
  if (family === undefined || seals.length === 0) return false;
  return family !== creator || (family === "openai" && seals.some(hasProviderPrefix));
}
