import { fault } from "../../contract/faults.ts";
import { SpeechRequest } from "../../contract/schemas/speech.ts";
import { speechUnit } from "../../domain/billing/speech-price.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import { estimateInputTokens, speechAdapter } from "../../io/upstream/speech-adapter.ts";
import { isJsonObject } from "../../kit/json.ts";
import { decodeRoutingHints } from "../../language/canon/routing-hints.ts";
import {
  countCodePoints,
  expectedSpeechSeconds,
  maxAudioTokens,
  maxSpeechSeconds,
  type SpeechCall,
} from "../../language/speech/call.ts";
import type { Handler } from "../exchange.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import type {
  DecodedRequest,
  EndpointAdapter,
  InferenceRequest,
  RequestOutline,
  UsageBound,
} from "../pipeline/inference-request.ts";
import { inferenceHandler } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";
import { missingInterfaceFault } from "./missing-interface.ts";
import { missingSpeechCapability, type SpeechRequirements, unfitSpeechFault } from "./speech-capability.ts";

/** POST /audio/speech. */
export function speechHandlers(gateway: GatewayDeps): Record<string, Handler> {
  return {
    createSpeech: inferenceHandler(gateway, "speech", (bytes) => decodeSpeech(bytes, gateway)),
  };
}

function decodeSpeech(bytes: Buffer, gateway: GatewayDeps): DecodedRequest {
  const { value } = parseJson(bytes);
  const request = decodeWith(SpeechRequest, rejectSse(value));
  const ask: SpeechCall = {
    input: request.input,
    voice: request.voice,
    format: request.response_format ?? "mp3",
    speed: request.speed ?? undefined,
    instructions: request.instructions ?? undefined,
  };
  const { clock, catalogue } = gateway;
  const speech = { ask, characters: countCodePoints(ask.input), nowMs: clock.nowMs() };
  const routingHints = decodeRoutingHints({ data_classes: request.data_classes });
  return { request: new SpeechInferenceRequest({ model: request.model, routingHints }, speech, catalogue) };
}

/** `stream_format: sse` is valid at OpenAI, so it is rejected as unsupported instead of invalid. */
function rejectSse(value: unknown): unknown {
  if (!isJsonObject(value) || value["stream_format"] !== "sse") return value;
  // An unknown field is reported first.
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(SpeechRequest.shape, name));
  if (unknown !== undefined) return value;
  throw fault("unsupported_parameter", {
    message: 'Field "stream_format": "sse" is not supported, because the response is always audio bytes. Omit it.',
    param: "stream_format",
  });
}

const VOICE_CHARS_MAX = 128;
const AUDIO_TOKENS_PER_SECOND = 25;

class SpeechInferenceRequest implements InferenceRequest {
  readonly outline: RequestOutline;
  readonly streaming = true;
  readonly inputTokens: number;
  readonly #ask: SpeechCall;
  readonly #characters: number;

  constructor(
    target: Pick<RequestOutline, "model" | "routingHints">,
    speech: SpeechRequirements,
    catalogue: GatewayDeps["catalogue"],
  ) {
    const { ask, characters } = speech;
    this.#ask = ask;
    this.#characters = characters;
    this.inputTokens = estimateInputTokens(ask);
    const seconds = expectedSpeechSeconds(characters, ask.speed);
    this.outline = {
      ...target,
      requirements: {
        needs: [],
        parameters: [],
        otherParameters: (["speed", "instructions"] as const).filter((name) => ask[name] !== undefined),
        inputTokens: this.inputTokens,
        maxOutputTokens: 0,
        billedUnits: { characters, seconds, audioOutputTokens: seconds * AUDIO_TOKENS_PER_SECOND },
        checkFit: (endpoint) => missingSpeechCapability(endpoint, speech),
        unfitFault: (endpoints) => unfitSpeechFault(endpoints, speech),
        unservedFault: (modelId) =>
          missingInterfaceFault(catalogue.snapshot, {
            modelId,
            has: ({ speech }) => speech !== null,
            code: "speech_not_supported",
            what: "speech",
          }),
      },
    };
  }

  get detail() {
    const { format, voice } = this.#ask;
    return { characters: this.#characters, format, voice: voice.slice(0, VOICE_CHARS_MAX) };
  }

  usageBoundAt({ endpoint }: Attempt): UsageBound {
    const seconds = maxSpeechSeconds(this.#characters, this.#ask.speed);
    const outputTokens = Math.min(maxAudioTokens(seconds), endpoint.limits.maxOutputTokens ?? Number.POSITIVE_INFINITY);
    return { inputTokens: this.inputTokens, outputTokens, characters: this.#characters, seconds };
  }

  adapterFor({ endpoint, price }: Attempt): EndpointAdapter {
    const { speech: support } = endpoint;
    if (support === null) throw new Error(`${endpoint.id} has no speech interface`);
    return { adapter: speechAdapter(this.#ask, { endpoint, support, unit: speechUnit(price) }), reasoning: undefined };
  }

  content(): unknown {
    return this.#ask;
  }

  referencesProviderState(): boolean {
    return false;
  }
}
