import { isJsonObject, type JsonObject, type ParsedBody, parseJsonObject, patchMembers } from "../../../../kit/json.ts";
import type { ReportedCost, WholeReply } from "../../../canon/reply.ts";
import { weightOf } from "../../../canon/tokens.ts";
import type { Usage } from "../../../canon/usage.ts";
import { isAborted, ReplyNormalizer } from "../upstream/normalize.ts";
import { decodeUsage, encodeUsage } from "../usage.ts";

/**
 * Patches the id, the usage and non-conforming choices of a provider's reply; undefined if the bytes are not a reply
 * of this dialect.
 */
export function decodePassthroughReply(bytes: Buffer, ownId: string): WholeReply | undefined {
  const body = parseJsonObject(bytes);
  if ("problem" in body) return undefined;
  const { choices } = body.value;
  if (!Array.isArray(choices) || choices.length === 0) return undefined;
  const isConforming = choices.every(isConformingChoice);
  if (!isConforming && isAborted(choices)) return undefined;
  const normalized = isConforming ? undefined : new ReplyNormalizer(ownId, "message").normalize(choices);
  const messages: JsonObject[] = [];
  for (const choice of normalized ?? choices) {
    if (!isJsonObject(choice) || !isJsonObject(choice["message"])) return undefined;
    messages.push(choice["message"]);
  }
  return new PassthroughChatReply(body, ownId, normalized, messages);
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
  readonly #body: ParsedBody;
  readonly #ownId: string;
  readonly #normalized: readonly unknown[] | undefined;
  readonly #messages: readonly JsonObject[];

  constructor(
    body: ParsedBody,
    ownId: string,
    normalized: readonly unknown[] | undefined,
    messages: readonly JsonObject[],
  ) {
    const { id, usage } = body.value;
    this.usage = decodeUsage(usage);
    this.upstreamId = typeof id === "string" && id !== "" ? id : null;
    this.#body = body;
    this.#ownId = ownId;
    this.#normalized = normalized;
    this.#messages = messages;
  }

  /** Computed on demand, only if the provider reports no usage. */
  get outputWeight(): number {
    return this.#messages.reduce((sum, message) => sum + measureMessage(message, weightOf), 0);
  }

  render(billed: Usage, cost: ReportedCost | undefined): string {
    const usage = encodePassthroughUsage(this.#body.value["usage"], billed, cost);
    return patchMembers(this.#body, [
      { key: "id", json: JSON.stringify(this.#ownId) },
      ...(this.#normalized === undefined ? [] : [{ key: "choices", json: JSON.stringify(this.#normalized) }]),
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

/** Sums a measure over text, reasoning, refusal, tool names and arguments. */
export function measureMessage(message: JsonObject, measure: (text: string) => number): number {
  const { content, refusal, reasoning_content, reasoning, tool_calls: calls } = message;
  let sum = 0;
  for (const value of [content, refusal, reasoning_content, reasoning]) sum += measureValue(value, measure);
  if (!Array.isArray(calls)) return sum;
  for (const call of calls) {
    if (!isJsonObject(call) || !isJsonObject(call["function"])) continue;
    const { name, arguments: argumentsText } = call["function"];
    sum += measureValue(name, measure) + measureValue(argumentsText, measure);
  }
  return sum;
}

function measureValue(value: unknown, measure: (text: string) => number): number {
  if (typeof value === "string") return measure(value);
  // Some servers stream content as an array of parts.
  return Array.isArray(value) ? measure(JSON.stringify(value)) : 0;
}
