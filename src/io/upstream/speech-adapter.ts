import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { SpeechSupport } from "../../domain/catalogue/speech-support.ts";
import { SseReader } from "../../kit/sse.ts";
import { conservativeTextTokens } from "../../language/canon/tokens.ts";
import {
  CONTENT_TYPES,
  countCodePoints,
  implausibleInputTokens,
  implausibleSeconds,
  type SpeechCall,
} from "../../language/speech/call.ts";
import { type SpeechExpectation, SpeechStream } from "../../language/speech/stream.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";
import { UPSTREAM_ADAPTERS } from "./upstream-adapters.ts";

export type SpeechTarget = {
  readonly endpoint: Pick<Endpoint, "upstreamModel" | "sovereignty">;
  readonly support: SpeechSupport;
  /** The unit of the endpoint's price. */
  readonly unit: SpeechExpectation["billingUnit"];
};

export function speechAdapter(
  ask: SpeechCall,
  { endpoint, support, unit: billingUnit }: SpeechTarget,
): UpstreamAdapter {
  const wire = UPSTREAM_ADAPTERS.speech[support.interface];
  const options = {
    upstreamModel: endpoint.upstreamModel,
    canStream: support.stream,
    needsUsage: billingUnit === "tokens",
  };
  const characters = countCodePoints(ask.input);
  return {
    surface: null,
    path: wire.path(options),
    auth: wire.auth,
    headers: { accept: wire.accept(ask, options) },
    streamContentType: "",
    keepAliveFrame: "",
    effort: undefined,
    responseHeaders: {
      "content-type": CONTENT_TYPES[ask.format],
      ...(billingUnit === "characters" ? { "x-svc-input-characters": String(characters) } : {}),
    },
    encode: () => JSON.stringify(wire.encode(ask, options)),
    decodeResponse: () => undefined,
    openAudioStream: (headers) =>
      new SpeechStream(wire.createExtractor(headers), {
        format: ask.format,
        characters,
        inputTokens: estimateInputTokens(ask),
        billingUnit,
        pcm: support.pcm,
        implausible: { seconds: implausibleSeconds(characters, ask.speed), inputTokens: implausibleInputTokens(ask) },
      }),
    openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
    openReplyStream() {
      throw new Error("speech is relayed as bytes");
    },
    decodeProblem: wire.decodeProblem,
  };
}

export function estimateInputTokens({ input, instructions }: SpeechCall): number {
  return conservativeTextTokens(input) + (instructions === undefined ? 0 : conservativeTextTokens(instructions));
}
