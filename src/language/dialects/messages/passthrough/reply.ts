import { isJsonObject, type ParsedBody, patchMembers } from "../../../../kit/json.ts";
import { JsonDocument, type JsonSource } from "../../../../kit/json-document.ts";
import { measureJson } from "../../../../kit/json-size.ts";
import type { WholeReply } from "../../../canon/reply.ts";
import { weightOf } from "../../../canon/tokens.ts";
import { extraUsesInBlocks, extraUsesInMessage, isServerToolRun, promptCountInMessage } from "../../extras.ts";
import { UsageAccumulator } from "../upstream/usage.ts";
import { WireMessage } from "../wire.ts";

/** Members that the gateway replaces: the id, and the model if the caller compares it. */
export type OwnMembers = { readonly id: string; readonly model: string | undefined };

/** Patches id and model of a provider's reply and keeps all other bytes. */
export function decodePassthroughReply(source: JsonSource, own: OwnMembers): WholeReply | undefined {
  const { body } = JsonDocument.of(source);
  if ("problem" in body) return undefined;
  const message = WireMessage.safeParse(body.value);
  if (!message.success) return undefined;
  const { content, id, usage } = message.data;
  return {
    usage: new UsageAccumulator().add(usage),
    extraUses: extraUsesInMessage(usage, extraUsesInBlocks(content)),
    promptCount: promptCountInMessage(usage, content.filter(isServerToolRun).length),
    upstreamId: id || null,
    outputWeight: content.reduce((sum, block) => sum + weightOfBlock(block), 0),
    render: () => withOwnMembers(body, own),
  };
}

/** Weight of the text in a block, which is mostly empty when it opens in a stream. */
export function weightOfBlock(block: unknown): number {
  if (!isJsonObject(block)) return 0;
  let weight = 0;
  for (const key of ["text", "thinking", "name", "content"]) {
    const words = block[key];
    if (typeof words === "string") weight += weightOf(words);
  }
  const input = block["input"];
  return isJsonObject(input) && Object.keys(input).length > 0 ? weight + measureJson(input, weightOf) : weight;
}

export function withOwnMembers(message: ParsedBody, { id, model }: OwnMembers): string {
  const isNamed = model !== undefined && message.members.has("model");
  const named = isNamed ? [{ key: "model", json: JSON.stringify(model) }] : [];
  return patchMembers(message, [{ key: "id", json: JSON.stringify(id) }, ...named]);
}
