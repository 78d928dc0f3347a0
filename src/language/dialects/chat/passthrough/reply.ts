import {
  isJsonObject,
  type JsonObject,
  type MemberPatch,
  type ParsedBody,
  patchMembers,
} from "../../../../kit/json.ts";
import { JsonDocument, type JsonSource } from "../../../../kit/json-document.ts";
import { stringifyRewritten, type TextLimits } from "../../../../kit/json-size.ts";
import type { ReportedCost, WholeReply } from "../../../canon/reply.ts";
import { weightOf } from "../../../canon/tokens.ts";
import type { Usage } from "../../../canon/usage.ts";
import { isAborted, ReplyNormalizer } from "../upstream/normalize.ts";
import { decodeUsage, encodeUsage } from "../usage.ts";
import { measureMessage } from "./measure-message.ts";
import { type MaybeReply, withOmissions } from "./omitted-content.ts";

/**
 * Patches the id, the usage and non-conforming choices of a provider's reply, and with `ownModel` its model; undefined if
 * the bytes are not a reply of this dialect.
 */
export function decodePassthroughReply(
  source: JsonSource,
  ownId: string,
  ownModel?: string,
  text?: TextLimits,
): MaybeReply | undefined {
  const { body } = JsonDocument.of(source);
  if ("problem" in body) return undefined;
  const { choices } = body.value;
  if (!Array.isArray(choices) || choices.length === 0) return undefined;
  const isConforming = choices.every(isConformingChoice);
  if (!isConforming && isAborted(choices)) return undefined;
  const normalized = isConforming ? undefined : new ReplyNormalizer(ownId, "message", text).normalize(choices);
  const rewritten = normalized && stringifyRewritten(normalized, text);
  const messages: JsonObject[] = [];
  for (const choice of normalized ?? choices) {
    if (!isJsonObject(choice) || !isJsonObject(choice["message"])) return undefined;
    messages.push(choice["message"]);
  }
  const isNamed = ownModel !== undefined && body.members.has("model");
  const head = [
    { key: "id", json: JSON.stringify(ownId) },
    ...(isNamed ? [{ key: "model", json: JSON.stringify(ownModel) }] : []),
  ];
  const reply = new PassthroughChatReply(body, head, rewritten, messages);
  return isConforming ? reply : withOmissions(reply, choices);
}

const FINISH_REASONS: ReadonlySet<unknown> = new Set([undefined, null, "stop", "length", "content_filter"]);

/** A text reply as the dialect defines it, which most replies are: the normalizer would leave it as it is. */
function isConformingChoice(choice: unknown): boolean {
  if (!isJsonObject(choice) || !isJsonObject(choice["message"])) return false;
  const { content, reasoning, tool_calls: calls } = choice["message"];
  return !Array.isArray(content) && reasoning == null && calls == null && FINISH_REASONS.has(choice["finish_reason"]);
}

class PassthroughChatReply implements WholeReply {
  readonly usage: Usage | undefined;
  readonly upstreamId: string | null;
  omitted: readonly string[] | undefined;
  readonly #body: ParsedBody;
  readonly #head: readonly MemberPatch[];
  /** JSON text of the normalized choices. */
  readonly #choices: string | undefined;
  readonly #messages: readonly JsonObject[];

  constructor(
    body: ParsedBody,
    head: readonly MemberPatch[],
    choices: string | undefined,
    messages: readonly JsonObject[],
  ) {
    const { id, usage } = body.value;
    this.usage = decodeUsage(usage);
    this.upstreamId = typeof id === "string" && id !== "" ? id : null;
    this.#body = body;
    this.#head = head;
    this.#choices = choices;
    this.#messages = messages;
  }

  /** Computed on demand, only if the provider reports no usage. */
  get outputWeight(): number {
    return this.#messages.reduce((sum, message) => sum + measureMessage(message, weightOf), 0);
  }

  render(billed: Usage, cost: ReportedCost | undefined): string {
    const usage = encodePassthroughUsage(this.#body.value["usage"], billed, cost);
    return patchMembers(this.#body, [
      ...this.#head,
      ...(this.#choices === undefined ? [] : [{ key: "choices", json: this.#choices }]),
      { key: "usage", json: JSON.stringify(usage) },
    ]);
  }
}

/** The provider's own usage object with the cost added, or the billed usage where the two differ. */
export function encodePassthroughUsage(wireUsage: unknown, billed: Usage, cost: ReportedCost | undefined): JsonObject {
  if (!isJsonObject(wireUsage) || !matchesWireUsage(wireUsage, billed)) return encodeUsage(billed, cost);
  const usage: Record<string, unknown> = { ...encodeUsage(billed, undefined) };
  // The provider's price concerns the holder of the provider key; callers see only the gateway's cost.
  for (const key in wireUsage) if (key !== "cost" && key !== "currency") usage[key] = wireUsage[key];
  // Some providers leave reasoning tokens out of this field.
  usage["completion_tokens"] = billed.outputTokens;
  if (cost !== undefined) {
    usage["cost"] = cost.cost;
    usage["currency"] = cost.currency;
  }
  return usage;
}

/** Whether the billed usage equals the provider's, literally or after decoding. */
function matchesWireUsage(wire: JsonObject, { inputTokens, outputTokens }: Usage): boolean {
  if (wire["prompt_tokens"] === inputTokens && wire["completion_tokens"] === outputTokens) return true;
  const read = decodeUsage(wire);
  return read?.inputTokens === inputTokens && read.outputTokens === outputTokens;
}
