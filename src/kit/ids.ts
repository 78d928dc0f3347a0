import { randomFillSync } from "node:crypto";

/** Makes ids that sort by time: a prefix and a UUIDv7 as 32 hex digits. */
export type Ids = { next(prefix: string): string };

const POOL_BYTES = 10 * 400;

export function makeIds(nowMs: () => number): Ids {
  const pool = Buffer.allocUnsafe(POOL_BYTES);
  let offset = POOL_BYTES;
  return {
    next(prefix) {
      if (offset + 10 > POOL_BYTES) {
        randomFillSync(pool);
        offset = 0;
      }
      const time = nowMs().toString(16).padStart(12, "0");
      const random = pool.toString("hex", offset, offset + 10);
      offset += 10;
      // version 7 in the 13th digit, variant 10 in the 17th (8, 9, a or b)
      const variant = VARIANT[random.charCodeAt(3) & 3];
      return `${prefix}${time}7${random.slice(0, 3)}${variant}${random.slice(4, 19)}`;
    },
  };
}

/** When an id of this kind was made: milliseconds since the Unix epoch. */
export function timeOfId(id: string): number | undefined {
  const time = /([0-9a-f]{12})7[0-9a-f]{3}[89ab][0-9a-f]{15}$/.exec(id)?.[1];
  return time === undefined ? undefined : Number.parseInt(time, 16);
}

const VARIANT = ["8", "9", "a", "b"] as const;
