import { isJsonObject, type MemberPatch, type ParsedBody } from "../../../../kit/json.ts";
import { losslessMember } from "../../../../kit/lossless-json.ts";
import { EFFORTS, type Effort } from "../../../canon/call.ts";
import { nearestEffort, type SupportedEfforts } from "../../../canon/effort.ts";

/**
 * The word that the model is told in the place of the caller's own; undefined: the caller's goes out, or there is none.
 * This is the provider's own format: where nobody knows the model's words, it judges them itself.
 */
export function substituteEffort({ value }: ParsedBody, efforts: SupportedEfforts): Effort | undefined {
  const { output_config: config } = value;
  const word = isJsonObject(config) ? EFFORTS.find((known) => known === config["effort"]) : undefined;
  if (word === undefined) return undefined;
  const nearest = nearestEffort({ effort: word, budgetTokens: null }, efforts);
  return nearest === word ? undefined : nearest;
}

/** The member that says so, its other fields as they were written. */
export function effortPatches(body: ParsedBody, efforts: SupportedEfforts): MemberPatch[] {
  const effort = substituteEffort(body, efforts);
  const config = effort === undefined ? undefined : losslessMember(body, "output_config");
  return isJsonObject(config) ? [{ key: "output_config", json: JSON.stringify({ ...config, effort }) }] : [];
}
