import { randomFillSync } from "node:crypto";

/** Ids that sort by time: a prefix and a UUIDv7 as 32 hex digits. */
export type IdGenerator = { next(prefix: string): string };

const RANDOM_BYTES_PER_ID = 10;
/** Random bytes are drawn for many ids at once. */
const POOL_BYTES = 400 * RANDOM_BYTES_PER_ID;
const DIGITS = Buffer.from("0123456789abcdef", "latin1");
const PREFIX_CHARS_MAX = 32;
const TIME_DIGITS = 12;
const ID_DIGITS = 32;

/** Writes each id as one flat string: V8 would have to flatten a concatenated one before every map lookup or write. */
export function createIdGenerator(nowMs: () => number): IdGenerator {
  const pool = Buffer.allocUnsafe(POOL_BYTES);
  const text = Buffer.alloc(PREFIX_CHARS_MAX + ID_DIGITS);
  let offset = POOL_BYTES;
  const writeDigit = (at: number, value: number) => {
    text[at] = DIGITS[value] ?? 0;
  };
  return {
    next(prefix) {
      if (prefix.length > PREFIX_CHARS_MAX) throw new RangeError(`the prefix ${prefix} is too long`);
      if (offset + RANDOM_BYTES_PER_ID > POOL_BYTES) {
        randomFillSync(pool);
        offset = 0;
      }
      const start = text.write(prefix, "latin1");
      let time = nowMs();
      for (let at = start + TIME_DIGITS - 1; at >= start; at -= 1) {
        writeDigit(at, time % 16);
        time = Math.floor(time / 16);
      }
      for (let at = start + TIME_DIGITS; at < start + ID_DIGITS; at += 2) {
        const byte = pool[offset] ?? 0;
        offset += 1;
        writeDigit(at, byte >> 4);
        writeDigit(at + 1, byte & 15);
      }
      // Version 7 in the 13th digit, variant 10 in the 17th (8, 9, a or b).
      writeDigit(start + 12, 7);
      writeDigit(start + 16, 8 + ((pool[offset - 8] ?? 0) >> 6));
      return text.toString("latin1", 0, start + ID_DIGITS);
    },
  };
}

/** Creation time of an id, in milliseconds since the Unix epoch. */
export function idTimestampMs(id: string): number | undefined {
  const time = /([0-9a-f]{12})7[0-9a-f]{3}[89ab][0-9a-f]{15}$/.exec(id)?.[1];
  return time === undefined ? undefined : Number.parseInt(time, 16);
}
