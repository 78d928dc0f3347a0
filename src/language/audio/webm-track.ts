import { aacFrameMinSeconds } from "./adts.ts";
import { OPUS_PACKET_MAX_SECONDS, OPUS_RATE_HZ, opusPacketSamples } from "./opus.ts";
import { CHANNELS_MAX, RATE_MAX_HZ } from "./pcm.ts";
import { parseVorbisCodecPrivate } from "./vorbis.ts";

const AUDIO_TRACK_TYPE = 2;
const LACING_FLAGS = 0x06;
/** Its time and its flags. */
export const BLOCK_HEADER_BYTES = 3;
/** No block of sound lasts longer. */
const BLOCK_MAX_NANOS = 10e9;
/** Times are rounded to a thousandth. */
const OPUS_CONTIGUOUS_GAP_MAX_NANOS = OPUS_PACKET_MAX_SECONDS * 1e9 + 1e6;
/** The least that a frame lasts, by its codec: a clock that runs faster was made up. */
const FRAME_MIN_SECONDS: ReadonlyMap<string, number> = new Map([
  ["A_MPEG/L3", 0.024],
  ["A_AC3", 0.032],
]);
/** None of those codecs, nor AAC, makes more of a second. */
const BYTES_PER_SECOND_MAX = 80_000;

/** Behind the number of its track: what its bytes begin with, and how many they are. */
type WebmBlock = { readonly time: number; readonly head: Buffer; readonly bytes: number };

/** A track of a WebM file as far as it has been read. */
export class WebmTrack {
  number = 0;
  type = 0;
  codec = "";
  config = Buffer.alloc(0);
  rateHz = 8_000;
  channels = 1;
  bits = 0;
  /** Whether its blocks were coded once more, so that they do not begin with what a packet begins with. */
  isEncoded = false;
  #opusSamples = 0;
  /** Between blocks that can be without a pause between them. */
  #contiguousNanos = 0;
  #hasLacing = false;
  #frames = 0;
  #bytes = 0;
  #lastTime: number | undefined;
  /** From each block to the next. */
  #elapsed = 0;
  /** Between the last two blocks: how long the last one lasts, as far as that shows. */
  #lastGap = 0;

  get hasFrames(): boolean {
    return this.#frames > 0;
  }

  isAudioTrack(number: number): boolean {
    return this.type === AUDIO_TRACK_TYPE && this.number === number;
  }

  addBlock({ time, head, bytes }: WebmBlock, scaleNanos: number): void {
    const gap = time - (this.#lastTime ?? time);
    // Longer is a pause, or a lie: either way there is no sound in it.
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

  /** Undefined when they cannot be known, or what the file says cannot be true. */
  seconds(scaleNanos: number, missingBytes: number): number | undefined {
    const bytes = this.#bytes - missingBytes;
    if (this.isEncoded) return undefined;
    if (this.codec.startsWith("A_PCM/")) return this.#pcmSeconds(bytes);
    if (this.codec === "A_OPUS") return this.#hasLacing ? undefined : this.#opusSeconds();
    const seconds = ((this.#elapsed + this.#lastGap) * scaleNanos) / 1e9;
    const shortest = this.#frameMinSeconds();
    if (shortest === undefined || seconds < (this.#frames - 1) * shortest) return undefined;
    return bytes > seconds * BYTES_PER_SECOND_MAX ? undefined : seconds;
  }

  #frameMinSeconds(): number | undefined {
    if (this.codec.startsWith("A_AAC")) return aacFrameMinSeconds(this.config);
    if (this.codec !== "A_VORBIS") return FRAME_MIN_SECONDS.get(this.codec);
    const packets = parseVorbisCodecPrivate(this.config);
    return packets === undefined ? undefined : packets.typical / packets.rateHz;
  }

  /** Of packets of Opus by themselves, where those that follow each other closely last about that long. */
  #opusSeconds(): number | undefined {
    const seconds = this.#opusSamples / OPUS_RATE_HZ;
    return this.#contiguousNanos / 1e9 > 2 * seconds + 1 ? undefined : seconds;
  }

  #pcmSeconds(bytes: number): number | undefined {
    const { rateHz, channels, bits } = this;
    const isShape = rateHz >= 1 && rateHz <= RATE_MAX_HZ && channels > 0 && channels <= CHANNELS_MAX;
    return isShape && bits > 0 && bits <= 64 ? bytes / (channels * Math.ceil(bits / 8)) / rateHz : undefined;
  }
}
