import { crc8 } from "../../language/audio/flac.ts";
import { SPEECH_PCM } from "../../language/audio/pcm.ts";

const BLOCK_SAMPLES = 4_096;
const SAMPLE_BYTES = 2;
const STREAMINFO_BYTES = 34;
const LAST_BLOCK = 0x80;
/** Block size in 16 bits; 24 kHz. */
const BLOCK_AND_RATE = 0x77;
/** One channel, 16 bits per sample. */
const CHANNEL_AND_SIZE = 0x08;
const VERBATIM = 0x02;

const CRC16 = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x18005;
  return crc;
});

/** Encodes 24 kHz mono samples uncompressed. As from a streaming encoder, the total length is not stated. */
export function encodeFlac(samples: Buffer): Buffer {
  const parts = [Buffer.from("fLaC", "latin1"), streamInfo()];
  const blockBytes = BLOCK_SAMPLES * SAMPLE_BYTES;
  for (let at = 0, number = 0; at < samples.length; at += blockBytes, number++) {
    parts.push(flacFrame(samples.subarray(at, at + blockBytes), number));
  }
  return Buffer.concat(parts);
}

function streamInfo(): Buffer {
  const block = Buffer.alloc(4 + STREAMINFO_BYTES);
  block.writeUInt8(LAST_BLOCK, 0);
  block.writeUIntBE(STREAMINFO_BYTES, 1, 3);
  block.writeUInt16BE(BLOCK_SAMPLES, 4);
  block.writeUInt16BE(BLOCK_SAMPLES, 6);
  // Rate in 20 bits, channels minus one in 3, bits minus one in 5.
  block.writeUInt32BE(((SPEECH_PCM.rateHz << 12) | (15 << 4)) >>> 0, 14);
  return block;
}

function flacFrame(samples: Buffer, number: number): Buffer {
  const coded = codedNumber(number);
  const header = Buffer.alloc(4 + coded.length + 3);
  header.writeUInt16BE(0xfff8, 0);
  header.writeUInt8(BLOCK_AND_RATE, 2);
  header.writeUInt8(CHANNEL_AND_SIZE, 3);
  coded.copy(header, 4);
  header.writeUInt16BE(samples.length / SAMPLE_BYTES - 1, 4 + coded.length);
  header.writeUInt8(crc8(header, 0, header.length - 1), header.length - 1);
  const bytes = Buffer.concat([header, Buffer.from([VERBATIM]), Buffer.from(samples).swap16(), Buffer.alloc(2)]);
  bytes.writeUInt16BE(crc16(bytes, bytes.length - 2), bytes.length - 2);
  return bytes;
}

/** Frame numbers use UTF-8 coding; they stay below the surrogate range here. */
function codedNumber(number: number): Buffer {
  return Buffer.from(String.fromCodePoint(number), "utf8");
}

function crc16(bytes: Buffer, end: number): number {
  let crc = 0;
  for (let i = 0; i < end; i++) crc = ((crc << 8) & 0xffff) ^ (CRC16[(crc >>> 8) ^ (bytes[i] ?? 0)] ?? 0);
  return crc;
}
