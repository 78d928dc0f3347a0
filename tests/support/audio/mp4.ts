export function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}

export function box(name: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([words(8 + body.length), Buffer.from(name, "latin1"), body]);
}

/** The decoder's configuration for AAC: LC at 16 kHz, mono. */
const ESDS = box("esds", words(0), Buffer.from(`03160000000411${"40".padEnd(26, "0")}05021408`, "hex"));

/** One audio track of equal samples, each with a size and a duration on its clock. */
export function mp4(
  codec: string,
  track: { samples: number; bytes: number; units: number; unitsPerSecond: number },
): Buffer {
  const { samples, bytes, units, unitsPerSecond } = track;
  const entry = box(codec, Buffer.alloc(28), codec === "mp4a" ? ESDS : Buffer.alloc(0));
  const stbl = box(
    "stbl",
    box("stsd", words(0, 1), entry),
    box("stts", words(0, 1, samples, units)),
    box("stsz", words(0, bytes, samples)),
  );
  const mdhd = box("mdhd", words(0, 0, 0, unitsPerSecond, 0, 0));
  const hdlr = box("hdlr", words(0, 0), Buffer.from("soun"), words(0, 0, 0));
  const trak = box("trak", box("tkhd", words(0, 0, 0, 1)), box("mdia", mdhd, hdlr, box("minf", stbl)));
  return Buffer.concat([
    box("ftyp", Buffer.from("M4A ")),
    box("moov", trak),
    box("mdat", Buffer.alloc(samples * bytes, 1)),
  ]);
}
