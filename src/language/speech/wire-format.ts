import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "../../kit/json.ts";
import type { AudioPiece } from "../canon/reply.ts";
import { isTokenCount } from "../canon/tokens.ts";
import type { UpstreamProblem } from "../canon/upstream-problem.ts";
import { IMPLAUSIBLE_TOKENS, NO_TOKENS, type Usage } from "../canon/usage.ts";
import type { SpeechCall } from "./call.ts";

export type SpeechRequestOptions = {
  readonly upstreamModel: string;
  /** The endpoint streams audio while it synthesizes. */
  readonly canStream: boolean;
  /** The endpoint is billed by tokens, so the response must carry usage. */
  readonly needsUsage: boolean;
};

/** Extracts a provider's audio from its transport encoding, chunk by chunk. */
export type AudioExtractor = {
  push(chunk: Buffer): AudioPiece;
  /** Call after the provider's last byte; returns garbage if the encoding is incomplete. */
  end(): AudioPiece;
  readonly usage: Usage | undefined;
  readonly upstreamId: string | null;
  /** Paths of members of the response that are neither audio nor metadata. */
  readonly omitted: readonly string[] | undefined;
  /** The provider finished synthesis before it sent the first byte, so streaming the audio on gains nothing. */
  readonly isComplete?: true;
  /** Media type stated by the response, known with the first bytes; undefined: the requested format. */
  readonly mediaType: string | undefined;
};

/** A provider's wire format for speech. */
export type SpeechWireFormat = {
  readonly auth: "bearer" | "x-goog-api-key";
  path(options: SpeechRequestOptions): string;
  encode(call: SpeechCall, options: SpeechRequestOptions): JsonObject;
  /** The `Accept` header. */
  accept(call: SpeechCall, options: SpeechRequestOptions): string;
  createExtractor(headers: IncomingHttpHeaders): AudioExtractor;
  decodeProblem(
    body: unknown,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};

export function hasContentType(headers: IncomingHttpHeaders, type: string): boolean {
  return headers["content-type"]?.toLowerCase().includes(type) === true;
}

/** All output tokens are billed as audio. */
export function speechUsage(input: unknown, output: unknown): Usage | undefined {
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  if (!isTokenCount(input) || !isTokenCount(output)) return IMPLAUSIBLE_TOKENS;
  return { ...NO_TOKENS, inputTokens: input, outputTokens: output, audioOutputTokens: output };
}
