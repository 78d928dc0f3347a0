import type { AudioMeter } from "./meter.ts";

/** Raw 16-bit little-endian samples. */
export type PcmFormat = { readonly rateHz: number; readonly channels: number };

/** The format that providers send by default. */
export const SPEECH_PCM: PcmFormat = { rateHz: 24_000, channels: 1 };

const SAMPLE_BYTES = 2;
/** Above any speech audio. */
export const RATE_MAX_HZ = 192_000;
export const CHANNELS_MAX = 8;
const HEADER_BYTES = 44;
/** Placeholder for a length that is not known yet. */
const UNKNOWN_LENGTH = 0xffffffff;
const PCM_TYPES: ReadonlySet<string> = new Set(["audio/l16", "audio/pcm", "audio/x-pcm", "audio/raw", "audio/x-raw"]);

/** Parses a media type such as `audio/L16;codec=pcm;rate=24000`; undefined when it is not raw PCM. */
export function parsePcmMediaType(mediaType: string): PcmFormat | undefined {
  const [type = "", ...parameters] = mediaType.toLowerCase().split(";");
  if (!PCM_TYPES.has(type.trim())) return undefined;
  const parameter = (name: string, max: number) => {
    const found = parameters
      .map((match) => /^\s*([a-z]+)\s*=\s*"?(\d{1,7})"?\s*$/.exec(match))
      .find((match) => match?.[1] === name);
    const value = Number(found?.[2]);
    return value >= 1 && value <= max ? value : undefined;
  };
  return {
    rateHz: parameter("rate", RATE_MAX_HZ) ?? SPEECH_PCM.rateHz,
    channels: parameter("channels", CHANNELS_MAX) ?? SPEECH_PCM.channels,
  };
}

export function pcmMeter({ rateHz, channels }: PcmFormat): AudioMeter {
  let bytes = 0;
  return {
    push: (chunk) => {
      bytes += chunk.length;
    },
    seconds: () => (bytes === 0 ? undefined : Math.floor(bytes / SAMPLE_BYTES / channels) / rateHz),
  };
}

/** WAV header for raw samples; without `dataBytes` it is a streaming header. */
export function wavHeader({ rateHz, channels }: PcmFormat, dataBytes?: number): Buffer {
  const isKnown = dataBytes !== undefined && dataBytes + HEADER_BYTES - 8 < UNKNOWN_LENGTH;
  const header = Buffer.alloc(HEADER_BYTES);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(isKnown ? dataBytes + HEADER_BYTES - 8 : UNKNOWN_LENGTH, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rateHz, 24);
  header.writeUInt32LE(rateHz * channels * SAMPLE_BYTES, 28);
  header.writeUInt16LE(channels * SAMPLE_BYTES, 32);
  header.writeUInt16LE(SAMPLE_BYTES * 8, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(isKnown ? dataBytes : UNKNOWN_LENGTH, 40);
  return header;
}
