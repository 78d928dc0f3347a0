import { createHash } from "node:crypto";
import { fault, invalidValue } from "../../contract/faults.ts";
import { TranscriptionRequest } from "../../contract/schemas/transcriptions.ts";
import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { MissingCapability } from "../../domain/routing/requirements.ts";
import type { UploadedFile, UploadedForm } from "../../io/uploads/multipart-form.ts";
import type { UploadReader } from "../../io/uploads/upload-reader.ts";
import { reportsSeconds, timestampConflict, transcriptionsAdapter } from "../../io/upstream/transcriptions-adapter.ts";
import type { TextLimits } from "../../kit/json-size.ts";
import { decodeRoutingHints } from "../../language/canon/routing-hints.ts";
import { conservativeTextTokens } from "../../language/canon/tokens.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import {
  type FormValue,
  needsSegments,
  needsWords,
  TRANSCRIPTION_PARAMETERS,
  type TranscriptionCall,
  type TranscriptionParameter,
} from "../../language/transcriptions/call.ts";
import {
  expectedTranscriptTokens,
  maxAudioInputTokens,
  maxSeconds,
  secondsToHold,
  TEXT_TOKENS_PER_SECOND_MAX,
} from "../../language/transcriptions/duration.ts";
import type { Exchange, Handler } from "../exchange.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import type {
  DecodedRequest,
  EndpointAdapter,
  InferenceRequest,
  ReceivedRequest,
  RequestOutline,
  UsageBound,
} from "../pipeline/inference-request.ts";
import { inferenceHandler } from "../pipeline/run.ts";
import { decodeWith } from "../request-input.ts";
import { loggableForm, parseFormFields } from "./transcription-form.ts";

/** POST /audio/transcriptions. */
export function transcriptionHandlers(gateway: GatewayDeps, uploads: UploadReader): Record<string, Handler> {
  return {
    createTranscription: inferenceHandler(gateway, "transcriptions", {
      upload: (exchange) => receiveUpload(exchange, uploads),
    }),
  };
}

async function receiveUpload(exchange: Exchange, uploads: UploadReader): Promise<ReceivedRequest> {
  const source = await exchange.upload();
  const form = await uploads.read(source, exchange.headers["content-type"] ?? "", { file: 1 });
  const { fields } = form;
  const [file] = form.files;
  return {
    loggableBody: Buffer.from(JSON.stringify(loggableForm(fields, file))),
    requestFingerprint: formFingerprint(form),
    decode: () => decodeTranscription(form),
    dispose: () => form.close(),
  };
}

/** Hashes the fields and the file, because multipart boundaries differ between retries. */
export function formFingerprint({ fields, files }: UploadedForm): Buffer {
  const hash = createHash("sha256").update(JSON.stringify(fields));
  for (const { field, filename, contentType, sha256 } of files)
    hash.update(JSON.stringify([field, filename, contentType])).update(sha256);
  return hash.digest();
}

function decodeTranscription({ fields, files: [file] }: UploadedForm): DecodedRequest {
  const values = parseFormFields(fields);
  const request = decodeWith(TranscriptionRequest, file === undefined ? values : { ...values, file: file.filename });
  if (file === undefined || file.bytes === 0) throw invalidValue("file", "is empty");
  const ask = transcriptionAsk(request);
  return { request: new TranscriptionInferenceRequest(ask, file) };
}

function transcriptionAsk(request: TranscriptionRequest): TranscriptionCall {
  const format = request.response_format ?? "json";
  const isStreaming = request.stream ?? false;
  const granularities = [...new Set(request.timestamp_granularities ?? [])];
  if (granularities.length > 0 && format !== "verbose_json")
    throw invalidValue("timestamp_granularities", "needs response_format verbose_json");
  if (isStreaming && format !== "json" && format !== "text")
    throw invalidValue("stream", `has no events for response_format ${format}: use json or text`);
  if (request.include != null && format !== "json") throw invalidValue("include", "needs response_format json");
  const parameters = Object.fromEntries(
    TRANSCRIPTION_PARAMETERS.flatMap((name): [TranscriptionParameter, FormValue][] => {
      const value = formValueOf(request[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const routingHints = decodeRoutingHints({ provider: request.provider, data_classes: request.data_classes });
  return { model: request.model, format, isStreaming, granularities, parameters, routingHints };
}

/** Encodes a value as a form field. */
function formValueOf(value: TranscriptionRequest[TranscriptionParameter]): FormValue | undefined {
  if (value == null) return undefined;
  if (typeof value === "string" || Array.isArray(value)) return value;
  if (typeof value === "number") return String(value);
  const members = Object.entries(value).flatMap(([key, one]) => (one == null ? [] : [[key, String(one)]]));
  return Object.fromEntries(members);
}

class TranscriptionInferenceRequest implements InferenceRequest {
  readonly outline: RequestOutline;
  readonly streaming: boolean;
  readonly inputTokens: number;
  readonly #ask: TranscriptionCall;
  readonly #file: UploadedFile;

  constructor(ask: TranscriptionCall, file: UploadedFile) {
    this.#ask = ask;
    this.#file = file;
    this.streaming = ask.isStreaming;
    const seconds = maxSeconds(file);
    const { prompt } = ask.parameters;
    this.inputTokens = maxAudioInputTokens(seconds) + (typeof prompt === "string" ? conservativeTextTokens(prompt) : 0);
    this.outline = {
      model: ask.model,
      routingHints: ask.routingHints,
      requirements: {
        needs: [],
        parameters: [],
        otherParameters: Object.keys(ask.parameters),
        inputTokens: 0,
        maxOutputTokens: undefined,
        billedUnits: { characters: 0, seconds, audioOutputTokens: 0, transcript: expectedTranscriptTokens(seconds) },
        checkFit: (endpoint) => missingTranscriptionCapability(endpoint, ask, file),
      },
    };
  }

  get detail() {
    const { bytes, seconds } = this.#file;
    return { format: this.#ask.format, bytes, ...(seconds === undefined ? {} : { seconds }) };
  }

  usageBoundAt({ price }: Attempt): UsageBound {
    const seconds = secondsToHold(this.#file);
    if (price.perMinuteAudio !== null) return { inputTokens: 0, outputTokens: 0, seconds };
    return { inputTokens: this.inputTokens, outputTokens: seconds * TEXT_TOKENS_PER_SECOND_MAX };
  }

  adapterFor({ endpoint, price }: Attempt, _plan: Plan, _head: ReplyHead, text?: TextLimits): EndpointAdapter {
    const { transcriptions: facts } = endpoint;
    if (facts === null) throw new Error(`${endpoint.id} has no transcription interface`);
    const billedBy = price.perMinuteAudio === null ? "tokens" : "seconds";
    const adapter = transcriptionsAdapter({ call: this.#ask, file: this.#file, billedBy }, endpoint, facts, text);
    return { adapter, reasoning: undefined };
  }

  /** The audio itself is not inspected, which a rule can refuse. */
  content(): unknown {
    return { ...this.#ask.parameters, file: { type: "audio", filename: this.#file.filename } };
  }

  referencesProviderState(): boolean {
    return false;
  }
}

function missingTranscriptionCapability(
  { transcriptions: facts, prices }: Endpoint,
  ask: TranscriptionCall,
  file: UploadedFile,
): MissingCapability | undefined {
  if (facts === null) return { reason: "has no transcription interface", param: "model" };
  if (needsSegments(ask) && !facts.segments)
    return { reason: `does not return segment timestamps, which ${ask.format} requires`, param: "response_format" };
  if (needsWords(ask) && !facts.words)
    return { reason: "does not return word timestamps", param: "timestamp_granularities" };
  if (ask.isStreaming && !facts.stream) return { reason: "does not stream transcripts", param: "stream" };
  const sent = TRANSCRIPTION_PARAMETERS.filter((name) => ask.parameters[name] !== undefined);
  const unsupported = sent.find((name) => !facts.parameters.includes(name));
  if (unsupported !== undefined) return { reason: `does not support the parameter ${unsupported}`, param: unsupported };
  const excluded = timestampConflict(facts, ask);
  if (excluded !== undefined)
    return {
      reason: `does not support ${excluded} together with the timestamps that ${ask.format} requires`,
      param: excluded,
    };
  if (facts.maxBytes !== null && file.bytes > facts.maxBytes) return fileTooLarge(facts.maxBytes, ask.model);
  const isBySecond = prices.some(({ perMinuteAudio }) => perMinuteAudio !== null);
  // A stream reports the duration in its last event, which a disconnecting client would never pay for.
  const reportsDuration = !ask.isStreaming && reportsSeconds(facts, ask);
  return file.seconds === undefined && isBySecond && !reportsDuration ? unmeasuredDuration(ask) : undefined;
}

function fileTooLarge(maxBytes: number, model: string): MissingCapability {
  const message = `The file is larger than the ${maxBytes} bytes that ${model} supports. Split it, or use a more compact format.`;
  return {
    reason: `supports files of at most ${maxBytes} bytes`,
    param: "file",
    limit: maxBytes,
    fault: fault("request_too_large", { message, param: "file" }),
  };
}

/** Billed by the second, while neither the gateway nor the provider reports the duration in time. */
function unmeasuredDuration({ isStreaming }: TranscriptionCall): MissingCapability {
  const alternative = isStreaming ? ", or send it without stream" : "";
  const problem = `The duration of this file could not be measured, but it would be billed per second. Send it as mp3, flac or ogg, as wav with PCM samples, as m4a or mp4 with AAC, or as webm with Opus${alternative}`;
  return {
    reason:
      "is billed per second and does not report the duration in time, and the duration of the file could not be measured",
    param: "file",
    fault: invalidValue("file", problem),
  };
}
