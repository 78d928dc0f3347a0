import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "../../kit/json.ts";
import type { UpstreamProblem } from "../canon/problem.ts";
import type { AudioPiece } from "../canon/reply.ts";
import { IMPLAUSIBLE_TOKENS, isTokenCount, NO_TOKENS, type Usage } from "../canon/usage.ts";
import type { SpeechCall } from "./call.ts";

/** How an answer is wanted: as it is made, with figures that it is billed by, or both. */
export type SpeechRequestOptions = {
  readonly upstreamModel: string;
  /** The endpoint can send audio while it makes it. */
  readonly canStream: boolean;
  /** The tokens are needed: it is billed by them. */
  readonly needsUsage: boolean;
};

/** Takes a provider's audio out of what it is wrapped in. */
export type AudioExtractor = {
  push(chunk: Buffer): AudioPiece;
  /** The provider has sent its last byte: garbage when the wrapping is not whole. */
  end(): AudioPiece;
  readonly usage: Usage | undefined;
  readonly upstreamId: string | null;
  /** The provider had all of the audio before it sent any: there is nothing to be gained by passing it on in pieces. */
  readonly isComplete?: true;
  /** What the wrapping says the bytes are; known with the first of them. Undefined: they are what was asked for. */
  readonly mediaType: string | undefined;
};

/** A wire format that speech is asked for in. */
export type SpeechWireFormat = {
  readonly auth: "bearer" | "x-goog-api-key";
  path(wanted: SpeechRequestOptions): string;
  encode(ask: SpeechCall, wanted: SpeechRequestOptions): JsonObject;
  /** The content type that the answer is expected in. */
  accept(ask: SpeechCall, wanted: SpeechRequestOptions): string;
  createExtractor(headers: IncomingHttpHeaders): AudioExtractor;
  decodeProblem(
    body: unknown,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};

/** All a body says of its kind is its type; it is read as what it says it is. */
export function hasContentType(headers: IncomingHttpHeaders, type: string): boolean {
  return headers["content-type"]?.toLowerCase().includes(type) === true;
}

/** Everything that came out is audio, so all of it is billed as such. */
export function speechUsage(input: unknown, output: unknown): Usage | undefined {
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  if (!isTokenCount(input) || !isTokenCount(output)) return IMPLAUSIBLE_TOKENS;
  return { ...NO_TOKENS, inputTokens: input, outputTokens: output, audioOutputTokens: output };
}
