import { isJsonObject, type ParsedBody, parseJsonObject, patchMembers } from "../../../../kit/json.ts";
import { weightOf } from "../../../canon/estimate.ts";
import type { WholeReply } from "../../../canon/reply.ts";
import { extraUsesInBlocks, extraUsesInMessage, isServerToolRun, promptCountInMessage } from "../../extras.ts";
import { UsageAccumulator } from "../upstream/usage.ts";
import { WireMessage } from "../wire.ts";

/** What of an answer is the gateway's: its id, and for a caller that compares it the name of the model. */
export type OwnMembers = { readonly id: string; readonly model: string | undefined };

/** A whole answer of this dialect, handed on as it came but for its id and model. */
export function decodeDirectReply(bytes: Buffer, own: OwnMembers): WholeReply | undefined {
  const body = parseJsonObject(bytes);
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

/** What stands in a block, as an estimate weighs it: all of it in a whole answer, mostly nothing when it opens in a stream. */
export function weightOfBlock(block: unknown): number {
  if (!isJsonObject(block)) return 0;
  let weight = 0;
  for (const key of ["text", "thinking", "name", "content"]) {
    const words = block[key];
    if (typeof words === "string") weight += weightOf(words);
  }
  const input = block["input"];
  return isJsonObject(input) && Object.keys(input).length > 0 ? weight + weightOf(JSON.stringify(input)) : weight;
}

export function withOwnMembers(message: ParsedBody, { id, model }: OwnMembers): string {
  const isNamed = model !== undefined && message.members.has("model");
  const named = isNamed ? [{ key: "model", json: JSON.stringify(model) }] : [];
  return patchMembers(message, [{ key: "id", json: JSON.stringify(id) }, ...named]);
}
