import type { JsonObject } from "../../kit/json.ts";
import { adtsMeter } from "../audio/adts.ts";
import { couldBeFormat, SNIFF_BYTES } from "../audio/format-sniffer.ts";
import { type AudioFormat, type AudioMeter, billedSeconds } from "../audio/meter.ts";
import { type PcmFormat, parsePcmMediaType, SPEECH_PCM, wavHeader } from "../audio/pcm.ts";
import { speechMeter } from "../audio/speech-meter.ts";
import type { AudioPiece, AudioStream, MeteredUnits } from "../canon/reply.ts";
import { IMPLAUSIBLE_TOKENS, NO_TOKENS, type Usage } from "../canon/usage.ts";
import { maxAudioTokens, minAudioTokens } from "./call.ts";
import type { AudioExtractor } from "./wire-format.ts";

/** What is known before the first audio byte. */
export type SpeechExpectation = {
  readonly format: AudioFormat;
  readonly characters: number;
  /** Estimate. */
  readonly inputTokens: number;
  readonly billingUnit: "characters" | "seconds" | "tokens";
  /** Sample type of this provider's raw PCM, unless the response states it. */
  readonly pcm: "s16" | "f32";
  /** Limits beyond which duration and usage cannot belong to the text. */
  readonly implausible: { readonly seconds: number; readonly inputTokens: number };
};

/** Upper bound for any format: two channels of 32-bit samples at 96 kHz. */
const BYTES_PER_SECOND_MAX = 768_000;

/**
 * WAV data up to this size (six minutes at the default format) is buffered so that its header states the length; longer
 * audio goes out with a streaming header.
 */
const BUFFER_MAX_BYTES = 16 * 1024 * 1024;

/** A 32-bit float sample takes the bytes of two 16-bit samples. */
const FLOAT32_PCM: PcmFormat = { rateHz: SPEECH_PCM.rateHz, channels: 2 };

/** How provider bytes are metered and converted. */
type AudioTransform = {
  readonly meter: AudioMeter | undefined;
  /** Set: the output needs a WAV header of this format. */
  readonly wavHeaderFormat?: PcmFormat;
  apply(bytes: Buffer): Buffer | undefined;
};

/** Samples buffered until their number, which the WAV header states, is known. */
type BufferedSamples = { readonly format: PcmFormat; readonly parts: Buffer[]; bytes: number };

/**
 * Relays speech to the caller: extracts it, verifies the format before the first byte goes out, and meters it. Only raw
 * samples that become a complete WAV file are buffered, because players want the length in the header.
 */
export class SpeechStream implements AudioStream {
  readonly #expected: SpeechExpectation;
  readonly #extractor: AudioExtractor;
  #head: Buffer | undefined = Buffer.alloc(0);
  #transform: AudioTransform | undefined;
  #buffered: BufferedSamples | undefined;
  #sentBytes = 0;
  readonly outputWeight = 0;

  constructor(extractor: AudioExtractor, expected: SpeechExpectation) {
    this.#extractor = extractor;
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
    if (seconds === 0) return { is: "malformed", why: "the audio has no samples" };
    if (seconds === undefined && this.#expected.billingUnit === "seconds")
      return { is: "malformed", why: "the duration of the audio cannot be measured" };
    return this.#buffered === undefined ? last : this.#flushWithHeader(this.#buffered, this.#buffered.bytes);
  }

  get usage(): Usage | undefined {
    // Characters and seconds are counted exactly, so a missing token count needs no estimate.
    const { billingUnit, implausible } = this.#expected;
    const { usage } = this.#extractor;
    if (usage === undefined) return billingUnit === "tokens" ? undefined : NO_TOKENS;
    if (usage.inputTokens <= implausible.inputTokens && usage.outputTokens <= maxAudioTokens(implausible.seconds))
      return usage;
    return billingUnit === "tokens" ? IMPLAUSIBLE_TOKENS : NO_TOKENS;
  }

  /** For a provider that reported no usage or was not read to its end. */
  get estimate(): Usage {
    const outputTokens = minAudioTokens(this.#seconds ?? 0);
    return { ...NO_TOKENS, inputTokens: this.#expected.inputTokens, outputTokens, audioOutputTokens: outputTokens };
  }

  get units(): MeteredUnits {
    const seconds = this.#seconds;
    const { characters, billingUnit } = this.#expected;
    if (seconds === undefined && billingUnit !== "seconds") return { characters };
    // Audio was sent, so at least the billing minimum applies.
    return { characters, seconds: billedSeconds(seconds ?? 0) };
  }

  get detail(): JsonObject {
    const seconds = this.#seconds;
    return { seconds: seconds === undefined ? null : Math.round(seconds * 1000) / 1000, bytes: this.#sentBytes };
  }

  get omitted(): readonly string[] | undefined {
    return this.#extractor.omitted;
  }

  get upstreamId(): string | null {
    return this.#extractor.upstreamId;
  }

  close(): string {
    return "";
  }

  /** An audio body has no error frame. */
  fail(): undefined {
    return undefined;
  }

  get #seconds(): number | undefined {
    return this.#transform?.meter?.seconds();
  }

  /** Buffers until `minBytes` have arrived, then verifies that they are audio of the requested format. */
  #sniffThenPass(bytes: Buffer, minBytes: number): AudioPiece {
    if (this.#head === undefined) return this.#pass(bytes);
    this.#head = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes]);
    const head = this.#head;
    if (head.length < minBytes) return { is: "audio", bytes: Buffer.alloc(0) };
    const payload = detectPayload(this.#extractor.mediaType, this.#expected);
    if (payload === undefined || !couldBeFormat(payload.format, head))
      return { is: "malformed", why: `not audio in the format ${this.#expected.format}` };
    this.#head = undefined;
    this.#transform = transformFor(payload, this.#expected);
    const { wavHeaderFormat } = this.#transform;
    if (wavHeaderFormat !== undefined) this.#buffered = { format: wavHeaderFormat, parts: [], bytes: 0 };
    return this.#pass(head);
  }

  /** Sends the buffered samples with a WAV header in front; later samples pass through. */
  #flushWithHeader({ format, parts }: BufferedSamples, dataBytes?: number): AudioPiece {
    this.#buffered = undefined;
    const header = wavHeader(format, dataBytes);
    this.#sentBytes += header.length;
    return { is: "audio", bytes: Buffer.concat([header, ...parts]) };
  }

  #pass(bytes: Buffer): AudioPiece {
    this.#transform?.meter?.push(bytes);
    const shaped = this.#transform?.apply(bytes);
    if (shaped === undefined) return { is: "malformed", why: `not audio in the format ${this.#expected.format}` };
    this.#sentBytes += shaped.length;
    if (this.#isImplausiblyLong) return { is: "malformed", why: "the audio is implausibly long for the text" };
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

/** Undefined when the payload cannot be converted to the requested format. */
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

const HEADER_MAX_BYTES = 64 * 1024;
const FILE_HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;

/** Passes the samples of a WAV file through and drops its headers. */
class WavHeaderStripper {
  #header: Buffer | undefined = Buffer.alloc(0);

  /** Undefined when no data chunk is found within the header limit. */
  push(bytes: Buffer): Buffer | undefined {
    if (this.#header === undefined) return bytes;
    const head = Buffer.concat([this.#header, bytes]);
    const at = samplesOffset(head);
    if (at === undefined) {
      this.#header = head;
      return head.length > HEADER_MAX_BYTES ? undefined : Buffer.alloc(0);
    }
    this.#header = undefined;
    return head.subarray(at);
  }
}

function samplesOffset(head: Buffer): number | undefined {
  let at = FILE_HEADER_BYTES;
  while (at + CHUNK_HEADER_BYTES <= head.length) {
    if (head.toString("latin1", at, at + 4) === "data") return at + CHUNK_HEADER_BYTES;
    const length = head.readUInt32LE(at + 4);
    at += CHUNK_HEADER_BYTES + length + (length % 2);
  }
  return undefined;
}
