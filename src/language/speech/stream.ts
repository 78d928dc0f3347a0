import type { JsonObject } from "../../kit/json.ts";
import { adtsMeter } from "../audio/adts.ts";
import { couldBeFormat, SNIFF_BYTES } from "../audio/format-sniffer.ts";
import { type AudioFormat, type AudioMeter, billedSeconds } from "../audio/meter.ts";
import { type PcmFormat, parsePcmMediaType, SPEECH_PCM, wavHeader } from "../audio/pcm.ts";
import { speechMeter } from "../audio/speech-meter.ts";
import type { AudioPiece, AudioStream, MeteredUnits } from "../canon/reply.ts";
import { IMPLAUSIBLE_TOKENS, NO_TOKENS, type Usage } from "../canon/usage.ts";
import { maxAudioTokens, minAudioTokens } from "./call.ts";
import { WavHeaderStripper } from "./wav-data.ts";
import type { AudioExtractor } from "./wire-format.ts";

/** What is known of a speech before its first byte. */
export type SpeechExpectation = {
  readonly format: AudioFormat;
  readonly characters: number;
  /** The input, estimated. */
  readonly inputTokens: number;
  /** What it is billed by. */
  readonly billingUnit: "characters" | "seconds" | "tokens";
  /** Raw samples of this provider, where it does not say itself what they are. */
  readonly pcm: "s16" | "f32";
  /** Longer than this no speech of the text is, nor does anybody read so many tokens in it. */
  readonly implausible: { readonly seconds: number; readonly inputTokens: number };
};

/** More than a second takes up in any format: two channels of 32-bit samples, 96,000 a second. */
const BYTES_PER_SECOND_MAX = 768_000;

/** So much is kept until its length is known, six minutes in the usual shape; what is longer goes out as a stream. */
const BUFFER_MAX_BYTES = 16 * 1024 * 1024;

/** A float of 32 bits takes the room of two samples of 16. */
const FLOAT32_PCM: PcmFormat = { rateHz: SPEECH_PCM.rateHz, channels: 2 };

/** What the bytes of a provider are, and what is made of them. */
type AudioTransform = {
  readonly meter: AudioMeter | undefined;
  /** What the samples are that a header goes before; undefined: nothing goes before it. */
  readonly wavHeaderFormat?: PcmFormat;
  apply(bytes: Buffer): Buffer | undefined;
};

/** Samples that wait for the header, which states how many they are. */
type BufferedSamples = { readonly format: PcmFormat; readonly parts: Buffer[]; bytes: number };

/**
 * Speech on its way to the caller: taken out of its wrapping, known as audio of the asked format before its first byte
 * goes out, and measured as it passes. Nothing else is held back, but for samples that a provider sends whole and that
 * become a file: players want its length.
 */
export class SpeechStream implements AudioStream {
  readonly #expected: SpeechExpectation;
  readonly #extractor: AudioExtractor;
  #head: Buffer | undefined = Buffer.alloc(0);
  #transform: AudioTransform | undefined;
  #buffered: BufferedSamples | undefined;
  #sentBytes = 0;
  readonly outputWeight = 0;

  constructor(from: AudioExtractor, expected: SpeechExpectation) {
    this.#extractor = from;
    this.#expected = expected;
  }

  read(chunk: Buffer): AudioPiece {
    const piece = this.#extractor.push(chunk);
    return piece.is === "audio" ? this.#sniffThenPass(piece.bytes, SNIFF_BYTES) : piece;
  }

  end(): AudioPiece {
    const piece = this.#extractor.end();
    if (piece.is !== "audio") return piece;
    const last = this.#sniffThenPass(piece.bytes, 1);
    if (last.is !== "audio" || this.#sentBytes === 0) return last;
    const seconds = this.#seconds;
    if (seconds === 0) return { is: "garbage", why: "audio without a single sample" };
    if (seconds === undefined && this.#expected.billingUnit === "seconds")
      return { is: "garbage", why: "nothing in the audio can be measured" };
    return this.#buffered === undefined ? last : this.#flushWithHeader(this.#buffered, this.#buffered.bytes);
  }

  get usage(): Usage | undefined {
    // By another unit than tokens nothing is estimated: what is counted and measured is exact.
    const { billingUnit, implausible } = this.#expected;
    const { usage } = this.#extractor;
    if (usage === undefined) return billingUnit === "tokens" ? undefined : NO_TOKENS;
    if (usage.inputTokens <= implausible.inputTokens && usage.outputTokens <= maxAudioTokens(implausible.seconds))
      return usage;
    return billingUnit === "tokens" ? IMPLAUSIBLE_TOKENS : NO_TOKENS;
  }

  /** For a provider that told no figures, or was not heard to its end. */
  get estimate(): Usage {
    const outputTokens = minAudioTokens(this.#seconds ?? 0);
    return { ...NO_TOKENS, inputTokens: this.#expected.inputTokens, outputTokens, audioOutputTokens: outputTokens };
  }

  get units(): MeteredUnits {
    const seconds = this.#seconds;
    const { characters, billingUnit } = this.#expected;
    if (seconds === undefined && billingUnit !== "seconds") return { characters };
    // Something was heard, so it lasted for at least what is billed at least.
    return { characters, seconds: billedSeconds(seconds ?? 0) };
  }

  get detail(): JsonObject {
    const seconds = this.#seconds;
    return { seconds: seconds === undefined ? null : Math.round(seconds * 1000) / 1000, bytes: this.#sentBytes };
  }

  get upstreamId(): string | null {
    return this.#extractor.upstreamId;
  }

  close(): string {
    return "";
  }

  /** Audio has no words for what went wrong. */
  fail(): undefined {
    return undefined;
  }

  get #seconds(): number | undefined {
    return this.#transform?.meter?.seconds();
  }

  /** Holds the beginning until `telling` bytes of it are there: then it is audio of the asked format, or no answer. */
  #sniffThenPass(bytes: Buffer, telling: number): AudioPiece {
    if (this.#head === undefined) return this.#pass(bytes);
    this.#head = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes]);
    const head = this.#head;
    if (head.length < telling) return { is: "audio", bytes: Buffer.alloc(0) };
    const payload = detectPayload(this.#extractor.mediaType, this.#expected);
    if (payload === undefined || !couldBeFormat(payload.format, head))
      return { is: "garbage", why: `not audio of the format ${this.#expected.format}` };
    this.#head = undefined;
    this.#transform = transformFor(payload, this.#expected);
    const { wavHeaderFormat } = this.#transform;
    if (wavHeaderFormat !== undefined) this.#buffered = { format: wavHeaderFormat, parts: [], bytes: 0 };
    return this.#pass(head);
  }

  /** The samples that were held, with their header in front; those that follow go out as they come. */
  #flushWithHeader({ format, parts }: BufferedSamples, dataBytes?: number): AudioPiece {
    this.#buffered = undefined;
    const header = wavHeader(format, dataBytes);
    this.#sentBytes += header.length;
    return { is: "audio", bytes: Buffer.concat([header, ...parts]) };
  }

  #pass(bytes: Buffer): AudioPiece {
    this.#transform?.meter?.push(bytes);
    const shaped = this.#transform?.apply(bytes);
    if (shaped === undefined) return { is: "garbage", why: `not audio of the format ${this.#expected.format}` };
    this.#sentBytes += shaped.length;
    if (this.#isImplausiblyLong) return { is: "garbage", why: "audio far longer than the text can take" };
    const held = this.#buffered;
    if (held === undefined) return { is: "audio", bytes: shaped };
    held.parts.push(shaped);
    held.bytes += shaped.length;
    if (this.#extractor.isComplete !== true || held.bytes > BUFFER_MAX_BYTES) return this.#flushWithHeader(held);
    return { is: "audio", bytes: Buffer.alloc(0) };
  }

  get #isImplausiblyLong(): boolean {
    const { implausible } = this.#expected;
    return (this.#seconds ?? 0) > implausible.seconds || this.#sentBytes > implausible.seconds * BYTES_PER_SECOND_MAX;
  }
}

type AudioPayload = { readonly format: AudioFormat; readonly pcm: PcmFormat };

/** What comes in the wrapping; undefined when nothing that was asked for can be made of it. */
function detectPayload(mediaType: string | undefined, { format, pcm }: SpeechExpectation): AudioPayload | undefined {
  if (mediaType === undefined) return { format, pcm: pcm === "f32" ? FLOAT32_PCM : SPEECH_PCM };
  const shape = parsePcmMediaType(mediaType);
  const payload: AudioPayload | undefined =
    shape !== undefined
      ? { format: "pcm", pcm: shape }
      : /^audio\/(?:x-|vnd\.)?wav/i.test(mediaType)
        ? { format: "wav", pcm: SPEECH_PCM }
        : undefined;
  return payload !== undefined && (format === "wav" || format === "pcm") ? payload : undefined;
}

function transformFor(payload: AudioPayload, { format }: SpeechExpectation): AudioTransform {
  const meter = payload.format === "aac" ? adtsMeter() : speechMeter(payload.format, payload.pcm);
  if (payload.format === format) return { meter, apply: (bytes) => bytes };
  if (format === "wav") return { meter, wavHeaderFormat: payload.pcm, apply: (bytes) => bytes };
  const samples = new WavHeaderStripper();
  return { meter, apply: (bytes) => samples.push(bytes) };
}
