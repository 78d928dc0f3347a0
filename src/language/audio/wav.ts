import { CodedFrameProbe } from "./coded-frame-probe.ts";
import type { AudioMeter } from "./meter.ts";
import { CHANNELS_MAX, RATE_MAX_HZ } from "./pcm.ts";
import { Scanner, SKIP_ALL } from "./scanner.ts";

/** How the samples lie in the data; `unitBytes` is what cannot be cut. */
type SampleLayout = { readonly unitBytes: number; readonly unitsPerSecond: number };

const CONTAINER_IDS: ReadonlySet<string> = new Set(["RIFF", "RF64", "BW64"]);
/** Chunks that stand behind the samples. Anything else there means that the length of the data was a lie. */
const TRAILING_CHUNKS: ReadonlySet<string> = new Set([
  ..."LIST,INFO,fact,cue ,smpl,inst,plst,note,labl,bext,iXML,axml,chna,PEAK,cart,id3 ,ID3 ,JUNK,junk,PAD ,FLLR".split(
    ",",
  ),
  ..."afsp,DISP,_PMX,umid,minf,elm1,regn,levl,acid,strc,tlst,LGWV,data".split(","),
]);
const UNKNOWN_LENGTH_MIN = 0xffff_fff0;
const FORMAT_EXTENSIBLE = 0xfffe;
/** Linear samples and floating ones: as wide as the header says, in bytes. */
const UNCOMPRESSED_FORMATS: ReadonlySet<number> = new Set([1, 3]);
const SAMPLE_MAX_BYTES = 8;
/** A-law and mu-law: a byte for a sample. */
const COMPANDED_FORMATS: ReadonlySet<number> = new Set([6, 7]);
const FORMAT_MS_ADPCM = 0x02;
const FORMAT_IMA_ADPCM = 0x11;
const ADPCM_BITS = 4;
const FORMAT_GSM = 0x31;
const GSM_BLOCK_BYTES = 65;
const GSM_BLOCK_SAMPLES = 320;
const FMT_MAX_BYTES = 40;

/** Measures a WAV file by the bytes of its data. The lengths in its headers end nothing by themselves. */
export class WavMeter implements AudioMeter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  #state: "start" | "chunks" | "data" | "rest" = "start";
  /** By the first format in the file, which is the one that counts where it is played. */
  #layout: SampleLayout | undefined;
  #hasFormat = false;
  #dataBytes = 0;
  /** Of the data as its header says, still to come. */
  #declaredBytes = 0;
  /** An odd chunk is followed by one byte of padding. */
  #hasPadding = false;
  readonly #codedFrames = new CodedFrameProbe();

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    if (this.#layout === undefined || this.#codedFrames.isFound) return undefined;
    const waiting = this.#state === "data" ? this.#scanner.unread.length - (this.#hasPadding ? 1 : 0) : 0;
    const bytes = this.#dataBytes + Math.max(0, waiting);
    return Math.floor(bytes / this.#layout.unitBytes) / this.#layout.unitsPerSecond;
  }

  /** Samples that are no frames of a codec are what they look like. */
  skippedBytes(): number {
    return 0;
  }

  #read(bytes: Buffer, at: number): number | undefined {
    const here = bytes.length - at;
    if (this.#state === "rest") return this.#countData(bytes, at, here);
    if (this.#state === "data" && this.#declaredBytes > 0) {
      const part = Math.min(here, this.#declaredBytes);
      this.#declaredBytes -= part;
      return this.#countData(bytes, at, part);
    }
    if (this.#state === "data") return this.#readAfterData(bytes, at);
    if (this.#state === "start") return this.#readFileHeader(bytes, at);
    return this.#readChunkHeader(bytes, at);
  }

  #countData(bytes: Buffer, at: number, length: number): number {
    this.#codedFrames.push(bytes.subarray(at, at + length));
    this.#dataBytes += length;
    return length;
  }

  #readFileHeader(bytes: Buffer, at: number): number | undefined {
    if (bytes.length - at < 12) return undefined;
    this.#state = "chunks";
    return isWavStart(bytes.subarray(at, at + 12)) ? 12 : SKIP_ALL;
  }

  #readChunkHeader(bytes: Buffer, at: number): number | undefined {
    const here = bytes.length - at;
    if (here < 8) return undefined;
    const name = fourCc(bytes, at);
    const length = bytes.readUInt32LE(at + 4);
    if (name === "data") {
      this.#declaredBytes = length;
      this.#hasPadding = length % 2 === 1;
      this.#state = length === 0 || length >= UNKNOWN_LENGTH_MIN ? "rest" : "data";
      return 8;
    }
    if (name === "fmt ") {
      const shown = Math.min(length, FMT_MAX_BYTES);
      if (here < 8 + shown) return undefined;
      if (!this.#hasFormat) this.#layout = layoutOf(bytes.subarray(at + 8, at + 8 + shown));
      this.#hasFormat = true;
    }
    return 8 + length + (length % 2);
  }

  /** Where the data should end: another chunk begins here, or the length was a lie. */
  #readAfterData(bytes: Buffer, at: number): number | undefined {
    const padding = this.#hasPadding ? 1 : 0;
    if (bytes.length - at < 8 + padding) return undefined;
    if (!TRAILING_CHUNKS.has(fourCc(bytes, at + padding))) {
      this.#state = "rest";
      return this.#countData(bytes, at, bytes.length - at);
    }
    this.#state = "chunks";
    const moved = this.#readChunkHeader(bytes, at + padding);
    return moved === undefined ? undefined : padding + moved;
  }
}

/** Whether a file that begins so is WAV. */
export function isWavStart(head: Buffer): boolean {
  return CONTAINER_IDS.has(fourCc(head, 0)) && fourCc(head, 8) === "WAVE";
}

function fourCc(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at, at + 4);
}

/** By what a decoder goes by. Where that is in the data, the header alone tells no length. */
function layoutOf(fmt: Buffer): SampleLayout | undefined {
  if (fmt.length < 16) return undefined;
  const tag = fmt.readUInt16LE(0);
  const format = tag === FORMAT_EXTENSIBLE && fmt.length >= 26 ? fmt.readUInt16LE(24) : tag;
  const [channels, rateHz] = [fmt.readUInt16LE(2), fmt.readUInt32LE(4)];
  const [blockBytes, bits] = [fmt.readUInt16LE(12), fmt.readUInt16LE(14)];
  if (channels === 0 || channels > CHANNELS_MAX || rateHz === 0 || rateHz > RATE_MAX_HZ) return undefined;
  if (
    tag === FORMAT_EXTENSIBLE &&
    fmt.length >= 20 &&
    !isConsistentWidth(bits, fmt.readUInt16LE(18), blockBytes / channels)
  )
    return undefined;
  const sampleBytes = UNCOMPRESSED_FORMATS.has(format) ? Math.ceil(bits / 8) : COMPANDED_FORMATS.has(format) ? 1 : 0;
  if (sampleBytes > 0 && sampleBytes <= SAMPLE_MAX_BYTES)
    return { unitBytes: channels * sampleBytes, unitsPerSecond: rateHz };
  const blockSamples = blockSamplesOf(tag, blockBytes / channels, bits);
  return blockSamples > 0 ? { unitBytes: blockBytes, unitsPerSecond: rateHz / blockSamples } : undefined;
}

/** Decoders go by the valid bits where there are any: those of a sample must take the bytes that it has, or that blocks show. */
function isConsistentWidth(bits: number, validBits: number, blockBytes: number): boolean {
  const isPadded = validBits === 24 && bits === 32 && blockBytes === 4;
  return validBits === 0 || Math.ceil(validBits / 8) === Math.ceil(bits / 8) || isPadded;
}

/** Samples of each channel in a block: some in its head, the others two in a byte. Zero where nobody knows. */
function blockSamplesOf(format: number, bytesPerChannel: number, bits: number): number {
  if (format === FORMAT_GSM) return bytesPerChannel === GSM_BLOCK_BYTES ? GSM_BLOCK_SAMPLES : 0;
  if (bits !== ADPCM_BITS) return 0;
  if (format === FORMAT_MS_ADPCM && bytesPerChannel >= 7) return 2 + (bytesPerChannel - 7) * 2;
  if (format === FORMAT_IMA_ADPCM && bytesPerChannel >= 4) return 1 + (bytesPerChannel - 4) * 2;
  return 0;
}
