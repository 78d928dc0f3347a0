import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "../canon/problem.ts";
import type { EmbeddingInputs } from "./call.ts";

/** What one request to a provider asks for. */
export type EmbeddingBatch = {
  readonly upstreamModel: string;
  readonly inputs: EmbeddingInputs;
  readonly dimensions: number | undefined;
  readonly encoding: "float" | "base64";
  readonly user: string | undefined;
};

/** What a provider answered, as far as it can be read; `tokens` is undefined where it told none. */
export type EmbeddingReply = {
  readonly vectors: readonly unknown[];
  readonly tokens: number | undefined;
  readonly id: string | null;
};

/** A wire format that embeddings are asked in. */
export type EmbeddingWireFormat = {
  readonly auth: "bearer" | "x-goog-api-key";
  /** The most inputs that its own format has room for. */
  readonly batchMax: number | null;
  path(upstreamModel: string): string;
  encode(ask: EmbeddingBatch): JsonObject;
  /** Undefined when it is no answer of this format. */
  decode(body: unknown, headers: IncomingHttpHeaders): EmbeddingReply | undefined;
  decodeProblem(
    body: unknown,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};

/**
 * A count that a provider told. No input is empty, so nought is what a server says that does not count; what cannot be a
 * count is more than any.
 */
export function tokenCount(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || number === 0) return undefined;
  return Number.isInteger(number) && number > 0 ? number : Number.MAX_SAFE_INTEGER;
}
