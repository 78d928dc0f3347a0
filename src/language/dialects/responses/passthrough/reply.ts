import {
  isJsonObject,
  type JsonObject,
  type MemberPatch,
  type ParsedBody,
  parseJsonText,
  patchMembers,
} from "../../../../kit/json.ts";
import { JsonDocument, type JsonSource } from "../../../../kit/json-document.ts";
import type { ReportedCost, WholeReply } from "../../../canon/reply.ts";
import { weightOf } from "../../../canon/tokens.ts";
import type { Usage } from "../../../canon/usage.ts";
import type { ReplyHead } from "../../client-dialect.ts";
import { extraUsesInResponse, promptCountInResponse } from "../../extras.ts";
import { encodeUsage } from "../client/usage.ts";
import { isCompleteResponse } from "../upstream/stream.ts";
import { decodeUsage } from "../upstream/usage.ts";
import { providerPrefix } from "./request.ts";

/** Undefined if the bytes are not a reply of this dialect. */
export function decodePassthroughReply(source: JsonSource, ownership: ResponseOwnership): WholeReply | undefined {
  const { body } = JsonDocument.of(source);
  if ("problem" in body || !isCompleteResponse(body.value)) return undefined;
  const { id, usage } = body.value;
  const output = Array.isArray(body.value["output"]) ? body.value["output"] : [];
  return {
    usage: decodeUsage(usage),
    extraUses: extraUsesInResponse(output),
    promptCount: promptCountInResponse(output),
    upstreamId: typeof id === "string" && id !== "" ? id : null,
    outputWeight: outputWeight(output),
    render: (billed, cost) => ownedResponse(body, ownership, [usagePatch(body, billed, cost)]),
  };
}

/** Members that turn a provider's response into the gateway's own. */
export type ResponseOwnership = { readonly head: ReplyHead; readonly provider: string; readonly echo: JsonObject };

/** The gateway keeps the state, so the provider's values differ. */
const STATE_FIELDS = ["store", "background", "previous_response_id"] as const;

/** Patches id, state fields and encrypted content. */
export function ownedResponse(
  body: ParsedBody,
  { head, echo, provider }: ResponseOwnership,
  more: readonly MemberPatch[],
): string {
  const patches: MemberPatch[] = [{ key: "id", json: JSON.stringify(head.id) }];
  for (const key of STATE_FIELDS) if (echo[key] !== undefined) patches.push({ key, json: JSON.stringify(echo[key]) });
  const output = memberText(body, "output");
  const prefixed = output === undefined ? undefined : prefixEncryptedContent(output, provider);
  if (prefixed !== undefined && prefixed !== output) patches.push({ key: "output", json: prefixed });
  return patchMembers(body, [...patches, ...more]);
}

/** An unescaped key with a non-empty value. */
const ENCRYPTED_CONTENT_VALUE = /(?<!\\)"encrypted_content"\s*:\s*"(?!")/g;

/** Prefixes encrypted content with the provider that created it. */
export function prefixEncryptedContent(text: string, provider: string): string {
  if (!text.includes('"encrypted_content"')) return text;
  const prefix = providerPrefix(provider);
  return text.replace(ENCRYPTED_CONTENT_VALUE, (opening) => opening + prefix);
}

export function usagePatch(body: ParsedBody, billed: Usage, cost: ReportedCost | undefined): MemberPatch {
  return { key: "usage", json: usageText(memberText(body, "usage"), billed, cost) };
}

export function memberText({ text, members }: ParsedBody, key: string): string | undefined {
  const span = members.get(key);
  return span === undefined ? undefined : text.slice(span.valueStart, span.valueEnd);
}

/** Weight of the generated text in these items. */
function outputWeight(output: readonly unknown[]): number {
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

/** The provider's own usage JSON with the cost added, or the billed usage where the two differ. */
export function usageText(wire: string | undefined, billed: Usage, cost: ReportedCost | undefined): string {
  const costPatches: MemberPatch[] =
    cost === undefined
      ? // The provider's price concerns the holder of the provider key; callers see only the gateway's cost.
        [
          { key: "cost", json: null },
          { key: "currency", json: null },
        ]
      : [
          { key: "cost", json: JSON.stringify(cost.cost) },
          { key: "currency", json: JSON.stringify(cost.currency) },
        ];
  const body = wire === undefined ? undefined : parseJsonText(wire);
  if (body === undefined || "problem" in body || !matchesWireUsage(body.value, billed))
    return JSON.stringify(encodeUsage(billed, cost));
  const isLiteral = body.value["output_tokens"] === billed.outputTokens;
  return patchMembers(
    body,
    isLiteral ? costPatches : [{ key: "output_tokens", json: String(billed.outputTokens) }, ...costPatches],
  );
}

function matchesWireUsage(wire: unknown, billed: Usage): boolean {
  const read = isJsonObject(wire) ? decodeUsage(wire) : undefined;
  return read?.inputTokens === billed.inputTokens && read.outputTokens === billed.outputTokens;
}
