import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const PALETTE = 3;
/** Squares per side. */
const SQUARES = 8;

type PngColour = readonly [red: number, green: number, blue: number];

/** A chequered image of two colours, with one bit per pixel: large sides stay small files. */
export function paintPng(width: number, height: number, colours: readonly [PngColour, PngColour]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([1, PALETTE, 0, 0, 0], 8);
  const rowBytes = 1 + Math.ceil(width / 8);
  const rows = [0, 1].map((parity) => {
    const row = Buffer.alloc(rowBytes);
    const squareBytes = Math.max(1, Math.floor((rowBytes - 1) / SQUARES));
    for (let at = 1; at < rowBytes; at += 1)
      row[at] = (Math.floor((at - 1) / squareBytes) + parity) % 2 === 0 ? 0 : 255;
    return row;
  });
  const squareRows = Math.max(1, Math.floor(height / SQUARES));
  const pixels = Array.from({ length: height }, (_, y) => rows[Math.floor(y / squareRows) % 2] ?? Buffer.alloc(0));
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from(colours.flat())),
    chunk("IDAT", deflateSync(Buffer.concat(pixels), { level: 1 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
