import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "../canon/upstream-problem.ts";
import type { MemberRule } from "../dialects/reply-members.ts";
import type { Ranked } from "./call.ts";

/** One upstream request. */
export type RerankWireRequest = {
  readonly upstreamModel: string;
  readonly query: string;
  readonly texts: readonly string[];
  /** Undefined: all results. */
  readonly topN: number | undefined;
  readonly maxTokensPerDoc: number | undefined;
};

/** A decoded reply; counts are undefined when the provider reports none. */
export type RerankReply = {
  readonly ranked: readonly Ranked[];
  readonly tokens: number | undefined;
  readonly searchUnits: number | undefined;
  readonly id: string | null;
};

/** A provider's wire format for reranking. */
export type RerankWireFormat = {
  /** The format has a field for the maximum tokens of a document; absent: it does not. */
  readonly takesMaxTokensPerDoc?: true;
  /** Which members of a reply callers receive. */
  readonly reply: MemberRule;
  path(upstreamModel: string): string;
  encode(request: RerankWireRequest): JsonObject;
  /** Undefined when the body is not a reply in this format. */
  decode(body: unknown, headers: IncomingHttpHeaders): RerankReply | undefined;
  decodeProblem(
    body: unknown,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};

/** Undefined when an item has no place or no score. */
export function rankedItems(items: unknown, score: "relevance_score" | "score"): Ranked[] | undefined {
  if (!Array.isArray(items)) return undefined;
  const ranked: Ranked[] = [];
  for (const item of items) {
    if (!isJsonObject(item)) return undefined;
    const { index } = item;
    const value = item[score];
    if (typeof index !== "number" || typeof value !== "number") return undefined;
    ranked.push({ index, score: value });
  }
  return ranked;
}

/** Zero means that the server does not count; an invalid count is implausibly large. */
export function reportedCount(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || number === 0) return undefined;
  return Number.isInteger(number) && number > 0 ? number : Number.MAX_SAFE_INTEGER;
}
