import {
  isJsonObject,
  type JsonObject,
  type MemberPatch,
  type ParsedBody,
  parseJsonObject,
  parseJsonText,
  patchMembers,
} from "../../../../kit/json.ts";
import { weightOf } from "../../../canon/estimate.ts";
import type { ReportedCost, WholeReply } from "../../../canon/reply.ts";
import type { Usage } from "../../../canon/usage.ts";
import type { ReplyHead } from "../../client-dialect.ts";
import { extraUsesInResponse, promptCountInResponse } from "../../extras.ts";
import { encodeUsage } from "../client/usage.ts";
import { isCompleteResponse } from "../upstream/stream.ts";
import { decodeUsage } from "../upstream/usage.ts";
import { providerPrefix } from "./request.ts";

/** The provider's bytes with what is the gateway's; undefined when they are not an answer of this dialect. */
export function decodeDirectReply(bytes: Buffer, ownership: ResponseOwnership): WholeReply | undefined {
  const body = parseJsonObject(bytes);
  if ("problem" in body || !isCompleteResponse(body.value)) return undefined;
  const { id, usage } = body.value;
  const output = Array.isArray(body.value["output"]) ? body.value["output"] : [];
  return {
    usage: decodeUsage(usage),
    extraUses: extraUsesInResponse(output),
    promptCount: promptCountInResponse(output),
    upstreamId: typeof id === "string" && id !== "" ? id : null,
    outputWeight: outputWeight(output),
    render: (counted, shown) => ownedResponse(body, ownership, [usagePatch(body, counted, shown)]),
  };
}

/** How a provider's response becomes the gateway's. */
export type ResponseOwnership = { readonly head: ReplyHead; readonly provider: string; readonly echo: JsonObject };

/** State is the gateway's: of these the provider was told something else, or nothing. */
const STATE_FIELDS = ["store", "background", "previous_response_id"] as const;

/** The text of a provider's response object with our id, the state the caller asked for and what `more` says. */
export function ownedResponse(
  body: ParsedBody,
  { head, echo, provider }: ResponseOwnership,
  more: readonly MemberPatch[],
): string {
  const patches: MemberPatch[] = [{ key: "id", json: JSON.stringify(head.id) }];
  for (const key of STATE_FIELDS) if (echo[key] !== undefined) patches.push({ key, json: JSON.stringify(echo[key]) });
  const output = memberText(body, "output");
  const sealed = output === undefined ? undefined : prefixEncryptedContent(output, provider);
  if (sealed !== undefined && sealed !== output) patches.push({ key: "output", json: sealed });
  return patchMembers(body, [...patches, ...more]);
}

/** A quote inside a string has a backslash before it, so what has none is a key. An empty value is no seal. */
const ENCRYPTED_CONTENT_VALUE = /(?<!\\)"encrypted_content"\s*:\s*"(?!")/g;

/** The text of one item or of a list of them: what is encrypted in it goes under the name of the provider that made it. */
export function prefixEncryptedContent(text: string, provider: string): string {
  if (!text.includes('"encrypted_content"')) return text;
  const prefix = providerPrefix(provider);
  return text.replace(ENCRYPTED_CONTENT_VALUE, (opening) => opening + prefix);
}

/** What an answer is closed with: the figures it is billed by. */
export function usagePatch(body: ParsedBody, counted: Usage, shown: ReportedCost | undefined): MemberPatch {
  return { key: "usage", json: usageText(memberText(body, "usage"), counted, shown) };
}

export function memberText({ text, members }: ParsedBody, key: string): string | undefined {
  const span = members.get(key);
  return span === undefined ? undefined : text.slice(span.valueStart, span.valueEnd);
}

/** Everything the model wrote into these items, as an estimate weighs it. */
export function outputWeight(output: readonly unknown[]): number {
  let weight = 0;
  for (const item of output) {
    if (!isJsonObject(item)) continue;
    weight += textWeight(item["content"]) + textWeight(item["summary"]);
    weight += textWeight(item["name"]) + textWeight(item["arguments"]) + textWeight(item["input"]);
  }
  return weight;
}

function textWeight(value: unknown): number {
  if (typeof value === "string") return weightOf(value);
  if (!Array.isArray(value)) return 0;
  let weight = 0;
  for (const part of value) if (isJsonObject(part)) weight += textWeight(part["text"]) + textWeight(part["refusal"]);
  return weight;
}

/** The provider's own usage, as text, with the cost added; where the gateway counted otherwise, what was counted. */
export function usageText(wire: string | undefined, counted: Usage, shown: ReportedCost | undefined): string {
  const cost: MemberPatch[] =
    shown === undefined
      ? // What a provider takes is between it and the holder of its key; it is never shown as the gateway's cost.
        [
          { key: "cost", json: null },
          { key: "currency", json: null },
        ]
      : [
          { key: "cost", json: JSON.stringify(shown.cost) },
          { key: "currency", json: JSON.stringify(shown.currency) },
        ];
  const body = wire === undefined ? undefined : parseJsonText(wire);
  if (body === undefined || "problem" in body || !matchesWireUsage(body.value, counted))
    return JSON.stringify(encodeUsage(counted, shown));
  const isLiteral = body.value["output_tokens"] === counted.outputTokens;
  return patchMembers(body, isLiteral ? cost : [{ key: "output_tokens", json: String(counted.outputTokens) }, ...cost]);
}

function matchesWireUsage(wire: unknown, counted: Usage): boolean {
  const read = isJsonObject(wire) ? decodeUsage(wire) : undefined;
  return read?.inputTokens === counted.inputTokens && read.outputTokens === counted.outputTokens;
}
