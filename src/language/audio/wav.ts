import { CodedFrameProbe } from "./coded-frame-probe.ts";
import type { AudioMeter } from "./meter.ts";
import { CHANNELS_MAX, RATE_MAX_HZ } from "./pcm.ts";
import { Scanner, SKIP_ALL } from "./scanner.ts";

/** `unitBytes` is the smallest indivisible unit: a sample of all channels, or a block. */
type SampleLayout = { readonly unitBytes: number; readonly unitsPerSecond: number };

const CONTAINER_IDS: ReadonlySet<string> = new Set(["RIFF", "RF64", "BW64"]);
/** Chunks that may follow the data chunk. Any other id there means that the stated data length is wrong. */
const TRAILING_CHUNKS: ReadonlySet<string> = new Set([
  ..."LIST,INFO,fact,cue ,smpl,inst,plst,note,labl,bext,iXML,axml,chna,PEAK,cart,id3 ,ID3 ,JUNK,junk,PAD ,FLLR".split(
    ",",
  ),
  ..."afsp,DISP,_PMX,umid,minf,elm1,regn,levl,acid,strc,tlst,LGWV,data".split(","),
]);
const UNKNOWN_LENGTH_MIN = 0xffff_fff0;
const FORMAT_EXTENSIBLE = 0xfffe;
/** Linear PCM and IEEE float, with the width that the header states. */
const UNCOMPRESSED_FORMATS: ReadonlySet<number> = new Set([1, 3]);
const SAMPLE_MAX_BYTES = 8;
/** A-law and mu-law: one byte per sample. */
const COMPANDED_FORMATS: ReadonlySet<number> = new Set([6, 7]);
const FORMAT_MS_ADPCM = 0x02;
const FORMAT_IMA_ADPCM = 0x11;
const ADPCM_BITS = 4;
const FORMAT_GSM = 0x31;
const GSM_BLOCK_BYTES = 65;
const GSM_BLOCK_SAMPLES = 320;
const FMT_MAX_BYTES = 40;

/** Measures a WAV file by its data bytes; a stated length alone never ends the data. */
export class WavMeter implements AudioMeter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  #state: "start" | "chunks" | "data" | "rest" = "start";
  /** From the first fmt chunk, which players use. */
  #layout: SampleLayout | undefined;
  #hasFormat = false;
  #dataBytes = 0;
  /** Data bytes still expected according to the header. */
  #declaredBytes = 0;
  /** A chunk of odd length is followed by one padding byte. */
  #hasPadding = false;
  readonly #codedFrames = new CodedFrameProbe();

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    if (this.#layout === undefined || this.#codedFrames.isFound) return undefined;
    const unreadBytes = this.#state === "data" ? this.#scanner.unread.length - (this.#hasPadding ? 1 : 0) : 0;
    const bytes = this.#dataBytes + Math.max(0, unreadBytes);
    return Math.floor(bytes / this.#layout.unitBytes) / this.#layout.unitsPerSecond;
  }

  skippedBytes(): number {
    return 0;
  }

  #read(bytes: Buffer, at: number): number | undefined {
    const available = bytes.length - at;
    if (this.#state === "rest") return this.#countData(bytes, at, available);
    if (this.#state === "data" && this.#declaredBytes > 0) {
      const taken = Math.min(available, this.#declaredBytes);
      this.#declaredBytes -= taken;
      return this.#countData(bytes, at, taken);
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
    const available = bytes.length - at;
    if (available < 8) return undefined;
    const name = fourCc(bytes, at);
    const length = bytes.readUInt32LE(at + 4);
    if (name === "data") {
      this.#declaredBytes = length;
      this.#hasPadding = length % 2 === 1;
      this.#state = length === 0 || length >= UNKNOWN_LENGTH_MIN ? "rest" : "data";
      return 8;
    }
    if (name === "fmt ") {
      const readBytes = Math.min(length, FMT_MAX_BYTES);
      if (available < 8 + readBytes) return undefined;
      if (!this.#hasFormat) this.#layout = layoutOf(bytes.subarray(at + 8, at + 8 + readBytes));
      this.#hasFormat = true;
    }
    return 8 + length + (length % 2);
  }

  /** At the stated end of the data: either a known chunk follows, or the stated length was wrong. */
  #readAfterData(bytes: Buffer, at: number): number | undefined {
    const padding = this.#hasPadding ? 1 : 0;
    if (bytes.length - at < 8 + padding) return undefined;
    if (!TRAILING_CHUNKS.has(fourCc(bytes, at + padding))) {
      this.#state = "rest";
      return this.#countData(bytes, at, bytes.length - at);
    }
    this.#state = "chunks";
    const advance = this.#readChunkHeader(bytes, at + padding);
    return advance === undefined ? undefined : padding + advance;
  }
}

export function isWavStart(head: Buffer): boolean {
  return CONTAINER_IDS.has(fourCc(head, 0)) && fourCc(head, 8) === "WAVE";
}

function fourCc(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at, at + 4);
}

/** Undefined when the header alone does not determine the duration. */
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

/** Decoders use the valid bits where stated, so these must occupy as many bytes as the container bits. */
function isConsistentWidth(bits: number, validBits: number, blockBytes: number): boolean {
  const isPadded = validBits === 24 && bits === 32 && blockBytes === 4;
  return validBits === 0 || Math.ceil(validBits / 8) === Math.ceil(bits / 8) || isPadded;
}

/** Samples per channel in a block: some in its header, the others two per byte. Zero when unknown. */
function blockSamplesOf(format: number, bytesPerChannel: number, bits: number): number {
  if (format === FORMAT_GSM) return bytesPerChannel === GSM_BLOCK_BYTES ? GSM_BLOCK_SAMPLES : 0;
  if (bits !== ADPCM_BITS) return 0;
  if (format === FORMAT_MS_ADPCM && bytesPerChannel >= 7) return 2 + (bytesPerChannel - 7) * 2;
  if (format === FORMAT_IMA_ADPCM && bytesPerChannel >= 4) return 1 + (bytesPerChannel - 4) * 2;
  return 0;
}
