import { OPUS_RATE_HZ } from "../../language/audio/opus.ts";

const PACKET = Buffer.from([0xf8, 0xff, 0xfe]);
const PACKET_SAMPLES = 960;
const PAGE_PACKETS = 50;
const PRE_SKIP = 312;
const SERIAL = 0x5eed;
const INPUT_RATE_HZ = 24_000;
const FLAG_FIRST_PAGE = 2;
const FLAG_LAST_PAGE = 4;

const CRC32 = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  return crc >>> 0;
});

/** Ogg Opus, mono, silent 20 ms packets. The last page states the exact end. */
export function silentOpus(seconds: number): Buffer {
  const endAt = PRE_SKIP + Math.round(seconds * OPUS_RATE_HZ);
  const packets = Math.ceil(endAt / PACKET_SAMPLES);
  const pages = [
    oggPage({ flags: FLAG_FIRST_PAGE, granule: 0, index: 0 }, [opusHead()]),
    oggPage({ flags: 0, granule: 0, index: 1 }, [opusTags()]),
  ];
  for (let sent = 0; sent < packets; sent += PAGE_PACKETS) {
    const count = Math.min(PAGE_PACKETS, packets - sent);
    const isLast = sent + count === packets;
    const granule = isLast ? endAt : (sent + count) * PACKET_SAMPLES;
    pages.push(
      oggPage({ flags: isLast ? FLAG_LAST_PAGE : 0, granule, index: pages.length }, Array(count).fill(PACKET)),
    );
  }
  return Buffer.concat(pages);
}

function opusHead(): Buffer {
  const packet = Buffer.alloc(19);
  packet.write("OpusHead", 0, "latin1");
  packet.writeUInt8(1, 8);
  packet.writeUInt8(1, 9);
  packet.writeUInt16LE(PRE_SKIP, 10);
  packet.writeUInt32LE(INPUT_RATE_HZ, 12);
  return packet;
}

function opusTags(): Buffer {
  const vendor = "sandbox";
  const packet = Buffer.alloc(8 + 4 + vendor.length + 4);
  packet.write("OpusTags", 0, "latin1");
  packet.writeUInt32LE(vendor.length, 8);
  packet.write(vendor, 12, "latin1");
  return packet;
}

/** Packets are shorter than 255 bytes, so each takes one lacing value. */
function oggPage(
  { flags, granule, index }: { readonly flags: number; readonly granule: number; readonly index: number },
  packets: readonly Buffer[],
): Buffer {
  const header = Buffer.alloc(27 + packets.length);
  header.write("OggS", 0, "latin1");
  header.writeUInt8(flags, 5);
  header.writeBigUInt64LE(BigInt(granule), 6);
  header.writeUInt32LE(SERIAL, 14);
  header.writeUInt32LE(index, 18);
  header.writeUInt8(packets.length, 26);
  for (const [i, packet] of packets.entries()) header.writeUInt8(packet.length, 27 + i);
  const bytes = Buffer.concat([header, ...packets]);
  bytes.writeUInt32LE(crc32(bytes), 22);
  return bytes;
}

function crc32(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) ^ (CRC32[(crc >>> 24) ^ byte] ?? 0)) >>> 0;
  return crc;
}
