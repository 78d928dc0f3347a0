import { aacFrameMinSeconds } from "./adts.ts";
import { OPUS_PACKET_MAX_SECONDS, OPUS_RATE_HZ, opusPacketSamples } from "./opus.ts";
import { CHANNELS_MAX, RATE_MAX_HZ } from "./pcm.ts";
import { parseVorbisCodecPrivate } from "./vorbis.ts";

const AUDIO_TRACK_TYPE = 2;
const LACING_FLAGS = 0x06;
/** Timestamp and flags. */
export const BLOCK_HEADER_BYTES = 3;
/** Longer than any audio block. */
const BLOCK_MAX_NANOS = 10e9;
/** Timestamps are rounded to milliseconds. */
const OPUS_CONTIGUOUS_GAP_MAX_NANOS = OPUS_PACKET_MAX_SECONDS * 1e9 + 1e6;
/** Shortest frame of a codec: faster timestamps are forged. */
const FRAME_MIN_SECONDS: ReadonlyMap<string, number> = new Map([
  ["A_MPEG/L3", 0.024],
  ["A_AC3", 0.032],
]);
/** Upper bound for these codecs and AAC. */
const BYTES_PER_SECOND_MAX = 80_000;

/** A block without its track number: its first bytes and its total size. */
type WebmBlock = { readonly time: number; readonly head: Buffer; readonly bytes: number };

/** A WebM track as far as it has been read. */
export class WebmTrack {
  number = 0;
  type = 0;
  codec = "";
  config = Buffer.alloc(0);
  rateHz = 8_000;
  channels = 1;
  bits = 0;
  /** Blocks are compressed or encrypted, so packet headers are not readable. */
  isEncoded = false;
  #opusSamples = 0;
  /** Time between blocks that follow each other without a pause. */
  #contiguousNanos = 0;
  #hasLacing = false;
  #frames = 0;
  #bytes = 0;
  #lastTime: number | undefined;
  /** Sum of the gaps between blocks, in timestamp units. */
  #elapsed = 0;
  /** Gap before the last block, used as the last block's duration. */
  #lastGap = 0;

  get hasFrames(): boolean {
    return this.#frames > 0;
  }

  isAudioTrack(number: number): boolean {
    return this.type === AUDIO_TRACK_TYPE && this.number === number;
  }

  addBlock({ time, head, bytes }: WebmBlock, scaleNanos: number): void {
    const gap = time - (this.#lastTime ?? time);
    // A longer gap is a pause or a forged timestamp: it contains no audio.
    const isPause = gap < 0 || gap * scaleNanos > BLOCK_MAX_NANOS;
    if (!isPause) this.#lastGap = gap;
    this.#elapsed += isPause ? 0 : gap;
    if (gap > 0 && gap * scaleNanos <= OPUS_CONTIGUOUS_GAP_MAX_NANOS) this.#contiguousNanos += gap * scaleNanos;
    this.#lastTime = time;
    this.#bytes += bytes - BLOCK_HEADER_BYTES;
    const isLaced = (head.readUInt8(2) & LACING_FLAGS) !== 0;
    this.#frames += 1 + (isLaced ? (head[BLOCK_HEADER_BYTES] ?? 0) : 0);
    if (isLaced) this.#hasLacing = true;
    else if (this.codec === "A_OPUS") this.#opusSamples += opusPacketSamples(head.subarray(BLOCK_HEADER_BYTES));
  }

  /** Undefined when unknown or implausible. */
  seconds(scaleNanos: number, missingBytes: number): number | undefined {
    const bytes = this.#bytes - missingBytes;
    if (this.isEncoded) return undefined;
    if (this.codec.startsWith("A_PCM/")) return this.#pcmSeconds(bytes);
    if (this.codec === "A_OPUS") return this.#hasLacing ? undefined : this.#opusSeconds();
    const seconds = ((this.#elapsed + this.#lastGap) * scaleNanos) / 1e9;
    const frameMinSeconds = this.#frameMinSeconds();
    if (frameMinSeconds === undefined || seconds < (this.#frames - 1) * frameMinSeconds) return undefined;
    return bytes > seconds * BYTES_PER_SECOND_MAX ? undefined : seconds;
  }

  #frameMinSeconds(): number | undefined {
    if (this.codec.startsWith("A_AAC")) return aacFrameMinSeconds(this.config);
    if (this.codec !== "A_VORBIS") return FRAME_MIN_SECONDS.get(this.codec);
    const packets = parseVorbisCodecPrivate(this.config);
    return packets === undefined ? undefined : packets.typical / packets.rateHz;
  }

  /** Opus packets state their own duration; contiguous timestamps must roughly agree. */
  #opusSeconds(): number | undefined {
    const seconds = this.#opusSamples / OPUS_RATE_HZ;
    return this.#contiguousNanos / 1e9 > 2 * seconds + 1 ? undefined : seconds;
  }

  #pcmSeconds(bytes: number): number | undefined {
    const { rateHz, channels, bits } = this;
    const isValidFormat = rateHz >= 1 && rateHz <= RATE_MAX_HZ && channels > 0 && channels <= CHANNELS_MAX;
    return isValidFormat && bits > 0 && bits <= 64 ? bytes / (channels * Math.ceil(bits / 8)) / rateHz : undefined;
  }
}
