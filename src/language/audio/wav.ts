import { CodedProbe } from "./coded.ts";
import type { Meter } from "./meter.ts";
import { CHANNELS_MAX, RATE_MAX_HZ } from "./pcm.ts";
import { Scanner, TO_THE_END } from "./scanner.ts";

/** How the samples lie in the data; `unitBytes` is what cannot be cut. */
type Layout = { readonly unitBytes: number; readonly unitsPerSecond: number };

const CONTAINERS: ReadonlySet<string> = new Set(["RIFF", "RF64", "BW64"]);
/** Chunks that stand behind the samples. Anything else there means that the length of the data was a lie. */
const TRAILERS: ReadonlySet<string> = new Set([
  ..."LIST,INFO,fact,cue ,smpl,inst,plst,note,labl,bext,iXML,axml,chna,PEAK,cart,id3 ,ID3 ,JUNK,junk,PAD ,FLLR".split(
    ",",
  ),
  ..."afsp,DISP,_PMX,umid,minf,elm1,regn,levl,acid,strc,tlst,LGWV,data".split(","),
]);
const UNKNOWN_FROM = 0xffff_fff0;
const EXTENSIBLE = 0xfffe;
/** Linear samples and floating ones: as wide as the header says, in bytes. */
const PLAIN: ReadonlySet<number> = new Set([1, 3]);
const SAMPLE_MAX_BYTES = 8;
/** A-law and mu-law: a byte for a sample. */
const COMPANDED: ReadonlySet<number> = new Set([6, 7]);
const MS_ADPCM = 0x02;
const IMA_ADPCM = 0x11;
const ADPCM_BITS = 4;
const GSM = 0x31;
const GSM_BLOCK_BYTES = 65;
const GSM_BLOCK_SAMPLES = 320;
const FMT_MAX_BYTES = 40;

/** Measures a WAV file by the bytes of its data. The lengths in its headers end nothing by themselves. */
export class WavMeter implements Meter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  #at: "start" | "chunks" | "data" | "rest" = "start";
  /** By the first format in the file, which is the one that counts where it is played. */
  #layout: Layout | undefined;
  #hasFormat = false;
  #dataBytes = 0;
  /** Of the data as its header says, still to come. */
  #declaredBytes = 0;
  /** An odd chunk is followed by one byte of padding. */
  #isOdd = false;
  readonly #coded = new CodedProbe();

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    if (this.#layout === undefined || this.#coded.isFound) return undefined;
    const waiting = this.#at === "data" ? this.#scanner.rest.length - (this.#isOdd ? 1 : 0) : 0;
    const bytes = this.#dataBytes + Math.max(0, waiting);
    return Math.floor(bytes / this.#layout.unitBytes) / this.#layout.unitsPerSecond;
  }

  /** Samples that are no frames of a codec are what they look like. */
  passedBytes(): number {
    return 0;
  }

  #read(bytes: Buffer, at: number): number | undefined {
    const here = bytes.length - at;
    if (this.#at === "rest") return this.#count(bytes, at, here);
    if (this.#at === "data" && this.#declaredBytes > 0) {
      const part = Math.min(here, this.#declaredBytes);
      this.#declaredBytes -= part;
      return this.#count(bytes, at, part);
    }
    if (this.#at === "data") return this.#afterData(bytes, at);
    if (this.#at === "start") return this.#start(bytes, at);
    return this.#chunk(bytes, at);
  }

  #count(bytes: Buffer, at: number, length: number): number {
    this.#coded.push(bytes.subarray(at, at + length));
    this.#dataBytes += length;
    return length;
  }

  #start(bytes: Buffer, at: number): number | undefined {
    if (bytes.length - at < 12) return undefined;
    this.#at = "chunks";
    return opensWav(bytes.subarray(at, at + 12)) ? 12 : TO_THE_END;
  }

  #chunk(bytes: Buffer, at: number): number | undefined {
    const here = bytes.length - at;
    if (here < 8) return undefined;
    const name = word(bytes, at);
    const length = bytes.readUInt32LE(at + 4);
    if (name === "data") {
      this.#declaredBytes = length;
      this.#isOdd = length % 2 === 1;
      this.#at = length === 0 || length >= UNKNOWN_FROM ? "rest" : "data";
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
  #afterData(bytes: Buffer, at: number): number | undefined {
    const padding = this.#isOdd ? 1 : 0;
    if (bytes.length - at < 8 + padding) return undefined;
    if (!TRAILERS.has(word(bytes, at + padding))) {
      this.#at = "rest";
      return this.#count(bytes, at, bytes.length - at);
    }
    this.#at = "chunks";
    const moved = this.#chunk(bytes, at + padding);
    return moved === undefined ? undefined : padding + moved;
  }
}

/** Whether a file that begins so is WAV. */
export function opensWav(head: Buffer): boolean {
  return CONTAINERS.has(word(head, 0)) && word(head, 8) === "WAVE";
}

function word(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at, at + 4);
}

/** By what a decoder goes by. Where that is in the data, the header alone tells no length. */
function layoutOf(fmt: Buffer): Layout | undefined {
  if (fmt.length < 16) return undefined;
  const tag = fmt.readUInt16LE(0);
  const format = tag === EXTENSIBLE && fmt.length >= 26 ? fmt.readUInt16LE(24) : tag;
  const [channels, rateHz] = [fmt.readUInt16LE(2), fmt.readUInt32LE(4)];
  const [blockBytes, bits] = [fmt.readUInt16LE(12), fmt.readUInt16LE(14)];
  if (channels === 0 || channels > CHANNELS_MAX || rateHz === 0 || rateHz > RATE_MAX_HZ) return undefined;
  if (tag === EXTENSIBLE && fmt.length >= 20 && !isAsWide(bits, fmt.readUInt16LE(18), blockBytes / channels))
    return undefined;
  const sampleBytes = PLAIN.has(format) ? Math.ceil(bits / 8) : COMPANDED.has(format) ? 1 : 0;
  if (sampleBytes > 0 && sampleBytes <= SAMPLE_MAX_BYTES)
    return { unitBytes: channels * sampleBytes, unitsPerSecond: rateHz };
  const blockSamples = blockSamplesOf(tag, blockBytes / channels, bits);
  return blockSamples > 0 ? { unitBytes: blockBytes, unitsPerSecond: rateHz / blockSamples } : undefined;
}

/** Decoders go by the valid bits where there are any: those of a sample must take the bytes that it has, or that blocks show. */
function isAsWide(bits: number, validBits: number, blockBytes: number): boolean {
  const isPadded = validBits === 24 && bits === 32 && blockBytes === 4;
  return validBits === 0 || Math.ceil(validBits / 8) === Math.ceil(bits / 8) || isPadded;
}

/** Samples of each channel in a block: some in its head, the others two in a byte. Zero where nobody knows. */
function blockSamplesOf(format: number, bytesPerChannel: number, bits: number): number {
  if (format === GSM) return bytesPerChannel === GSM_BLOCK_BYTES ? GSM_BLOCK_SAMPLES : 0;
  if (bits !== ADPCM_BITS) return 0;
  if (format === MS_ADPCM && bytesPerChannel >= 7) return 2 + (bytesPerChannel - 7) * 2;
  if (format === IMA_ADPCM && bytesPerChannel >= 4) return 1 + (bytesPerChannel - 4) * 2;
  return 0;
}
