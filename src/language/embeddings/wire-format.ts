import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "../canon/upstream-problem.ts";
import type { MemberRule } from "../dialects/reply-members.ts";
import type { EmbeddingInputs, EmbeddingTask } from "./call.ts";

/** One upstream request. */
export type EmbeddingWireRequest = {
  readonly upstreamModel: string;
  readonly inputs: EmbeddingInputs;
  readonly dimensions: number | undefined;
  readonly encoding: "float" | "base64";
  readonly user: string | undefined;
  readonly task: EmbeddingTask | undefined;
};

/** A decoded reply; `tokens` is undefined when the provider reports none. */
export type EmbeddingReply = {
  readonly vectors: readonly unknown[];
  readonly tokens: number | undefined;
  readonly id: string | null;
};

/** A provider's wire format for embeddings. */
export type EmbeddingWireFormat = {
  readonly auth: "bearer" | "x-goog-api-key";
  /** The format's own limit of inputs per request. */
  readonly batchMax: number | null;
  /** The format has a place for the task; absent: it does not. */
  readonly takesTask?: true;
  /** Which members of a reply callers receive. */
  readonly reply: MemberRule;
  path(upstreamModel: string): string;
  encode(batch: EmbeddingWireRequest): JsonObject;
  /** Undefined when the body is not a reply in this format. */
  decode(body: unknown, headers: IncomingHttpHeaders): EmbeddingReply | undefined;
  decodeProblem(
    body: unknown,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};

/** Zero means that the server does not count, since no input is empty; an invalid count is implausibly large. */
export function tokenCount(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || number === 0) return undefined;
  return Number.isInteger(number) && number > 0 ? number : Number.MAX_SAFE_INTEGER;
}
