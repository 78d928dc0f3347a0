import type { Meter } from "./meter.ts";
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
/** Linear samples, floating samples, A-law and mu-law: their size follows from the sample's. */
const PLAIN: ReadonlySet<number> = new Set([1, 3, 6, 7]);
/** Two kinds of ADPCM and GSM: samples in blocks, of which the header tells the number in each. */
const BLOCKED: ReadonlySet<number> = new Set([0x02, 0x11, 0x31]);
const FMT_MAX_BYTES = 40;

/** Measures a WAV file by the bytes of its data. The lengths in its headers end nothing by themselves. */
export class WavMeter implements Meter {
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  #at: "start" | "chunks" | "data" | "rest" = "start";
  #layout: Layout | undefined;
  #dataBytes = 0;
  /** Of the data as its header says, still to come. */
  #declaredBytes = 0;
  /** An odd chunk is followed by one byte of padding. */
  #isOdd = false;

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    if (this.#layout === undefined) return undefined;
    const waiting = this.#at === "data" ? this.#scanner.rest.length - (this.#isOdd ? 1 : 0) : 0;
    const bytes = this.#dataBytes + Math.max(0, waiting);
    return Math.floor(bytes / this.#layout.unitBytes) / this.#layout.unitsPerSecond;
  }

  #read(bytes: Buffer, at: number): number | undefined {
    const here = bytes.length - at;
    if (this.#at === "rest") return this.#count(here);
    if (this.#at === "data" && this.#declaredBytes > 0) {
      const part = Math.min(here, this.#declaredBytes);
      this.#declaredBytes -= part;
      return this.#count(part);
    }
    if (this.#at === "data") return this.#afterData(bytes, at);
    if (this.#at === "start") return this.#start(bytes, at);
    return this.#chunk(bytes, at);
  }

  #count(bytes: number): number {
    this.#dataBytes += bytes;
    return bytes;
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
      // The first one counts, as it does where the file is played.
      this.#layout ??= layoutOf(bytes.subarray(at + 8, at + 8 + shown));
    }
    return 8 + length + (length % 2);
  }

  /** Where the data should end: another chunk begins here, or the length was a lie. */
  #afterData(bytes: Buffer, at: number): number | undefined {
    const padding = this.#isOdd ? 1 : 0;
    if (bytes.length - at < 8 + padding) return undefined;
    if (!TRAILERS.has(word(bytes, at + padding))) {
      this.#at = "rest";
      return this.#count(bytes.length - at);
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

function layoutOf(fmt: Buffer): Layout | undefined {
  if (fmt.length < 16) return undefined;
  const tag = fmt.readUInt16LE(0);
  const format = tag === EXTENSIBLE && fmt.length >= 26 ? fmt.readUInt16LE(24) : tag;
  const [channels, rateHz, bytesPerSecond] = [fmt.readUInt16LE(2), fmt.readUInt32LE(4), fmt.readUInt32LE(8)];
  const sampleBytes = Math.ceil(fmt.readUInt16LE(14) / 8);
  if (rateHz === 0) return undefined;
  if (BLOCKED.has(format) && fmt.length >= 20) {
    const [blockBytes, blockSamples] = [fmt.readUInt16LE(12), fmt.readUInt16LE(18)];
    if (blockBytes > 0 && blockSamples > 0) return { unitBytes: blockBytes, unitsPerSecond: rateHz / blockSamples };
  }
  if (!PLAIN.has(format)) return bytesPerSecond === 0 ? undefined : { unitBytes: 1, unitsPerSecond: bytesPerSecond };
  if (channels === 0 || sampleBytes === 0) return undefined;
  return { unitBytes: channels * sampleBytes, unitsPerSecond: rateHz };
}
